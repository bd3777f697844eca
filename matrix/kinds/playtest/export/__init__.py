"""Play-tests as files, and carried over into changed ones."""
