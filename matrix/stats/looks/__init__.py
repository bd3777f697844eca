"""Looking more than once: boundaries, bets, and what an early stop does to an estimate."""
