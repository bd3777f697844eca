"""Is a run, or every variant of it, good enough?"""
