"""The journal: what a run's history is kept in, and how it is read back."""
