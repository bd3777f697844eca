"""Which variant won, or why that cannot be said."""
