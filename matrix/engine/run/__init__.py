"""One run from its folder to its end: what is launched next, looks at the scores, progress."""
