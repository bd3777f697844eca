"""Judging: a rubric, a request that keeps material as data, strict reading, and repeats.

What every kind with a judge shares. A kind brings its criteria, its words and its material, asks
through :func:`matrix.judging.asking.judge_transcript`, and records through
:mod:`matrix.judging.recording`.
"""
