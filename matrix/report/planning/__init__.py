"""What a run will do, cost and show."""
