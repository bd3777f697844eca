"""Runs in the forms of other programs' data: a table of results, logs of Inspect, a data set."""
