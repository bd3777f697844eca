"""The process that owns the journal, the money and the rate limits of a run."""
