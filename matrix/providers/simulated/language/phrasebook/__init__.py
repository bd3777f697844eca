"""Phrase banks of simulated models: data, one module per voice, and how lines are dealt."""
