"""A run's folder and what says whose it is."""
