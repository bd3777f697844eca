"""Providers: what answers model calls. Simulated models and the scripted fake for tests."""
