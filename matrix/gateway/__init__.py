"""A metered address: other programs' requests under this project's cap, limits and journal."""
