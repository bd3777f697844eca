"""One session, or two side by side, for people to read."""
