"""Kinds of scenario: what a session does, written over ports and free of I/O."""
