"""Tables and moments, read while a run goes on or afterwards."""
