"""One sample, two samples, and shares: estimates with their intervals."""
