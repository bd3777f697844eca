"""A session after a turn, as a value and as a file, and what is continued from it."""
