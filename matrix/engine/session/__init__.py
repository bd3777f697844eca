"""Durable sessions, the worker that plays them, and what a kind sees of its own."""
