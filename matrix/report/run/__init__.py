"""What a run came to, and what is kept of it."""
