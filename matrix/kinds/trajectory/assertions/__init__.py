"""What a working folder shows by itself, without a judge."""
