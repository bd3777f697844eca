"""Judging: rubrics, the prompts that ask for a verdict, and parsing what comes back."""
