"""What people read: comparison tables, summaries and transcripts, as values and as text."""
