"""Tables of results: how a file is read, which column is what, and what its cells say."""
