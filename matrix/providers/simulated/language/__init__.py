"""English small enough for simulated models, and examples of schemas."""
