"""A run spec and its parts, as one frozen value."""
