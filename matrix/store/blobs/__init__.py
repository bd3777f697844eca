"""Pieces of content named by their hash, and the working folders that are made of them."""
