"""Thresholds, regressions, and cost beside quality."""
