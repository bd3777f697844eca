"""Where the noise comes from, and what scenarios say about others."""
