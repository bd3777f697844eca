"""What the units of tables are: rows that belong together, and columns that say which do."""
