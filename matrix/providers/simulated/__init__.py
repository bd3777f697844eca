"""Simulated models: one more provider, which reads the real prompts and needs no key.

Everything after the model (parsing, classification, scoring, statistics) is the real code; only
the text comes from here. See :mod:`.settings` for what a run spec may say and :mod:`.traits` for
the table of behaviours.
"""
