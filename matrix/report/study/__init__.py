"""Everything that can be said of one comparison."""
