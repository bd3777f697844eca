"""Complete rounds, what was declared of them, and differences within them."""
