"""How many rounds a claim takes, the failure gate included."""
