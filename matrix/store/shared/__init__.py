"""Files that several runs share."""
