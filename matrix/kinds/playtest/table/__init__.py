"""The table: who sits at it, and one turn after the other."""
