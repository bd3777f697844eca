"""What an executor is, what all share, and the one without processes."""
