"""Calls of models: where their providers run, how attempts end, and which answers are kept."""
