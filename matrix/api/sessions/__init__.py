"""Sessions of a run: continued, exported, judged again, labelled."""
