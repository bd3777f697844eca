"""The life of a run: started, seen to its end, taken up again, and what run.json says of it."""
