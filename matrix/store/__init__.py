"""Where a run lives: the journal (the truth), the Parquet tables made from it, and readers."""
