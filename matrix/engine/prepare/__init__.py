"""From what a user wrote to a run that could start; imports nothing that runs."""
