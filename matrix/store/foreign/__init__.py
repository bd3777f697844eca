"""Results that others have made: their files read, bounded, into rows that a run folder takes."""
