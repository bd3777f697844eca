"""Replays and branches: what a session is continued from, and what is to be other in it."""
