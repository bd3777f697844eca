"""Simulated models behind an OpenAI-compatible HTTP address on this machine.

For benchmarks, tests of client libraries and trying real clients without a key. Nothing here is
used by a run: sessions reach simulated models through :mod:`matrix.providers.simulated`.
"""
