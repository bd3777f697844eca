"""The simulated roles: each reads its task from the request."""
