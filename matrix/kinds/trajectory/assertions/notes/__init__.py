"""Reading a notebook in markdown: hypotheses and their evidence, decisions, links."""
