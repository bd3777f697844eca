"""Self-tests: a generator writes a request, a system answers it, a judge scores the answer."""
