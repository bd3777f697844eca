"""What processes of a run are told, say to each other, and say to the log."""
