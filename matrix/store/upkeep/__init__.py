"""Taking up, rebuilding, packing away and sweeping."""
