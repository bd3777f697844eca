"""Speed and memory of matrix on this machine; run ``python -m benchmarks --help``."""
