"""All sessions of a run in groups: averages of every metric, ranks, and what went wrong in them."""
