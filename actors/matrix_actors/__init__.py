"""The Ray layer: thin actors around the plain classes of ``matrix``; the only code on Ray."""
