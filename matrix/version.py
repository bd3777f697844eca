"""The version of this package, where nothing else has to be loaded to read it."""

__version__ = "0.1.0"
