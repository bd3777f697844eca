"""What a simulated narrator makes of a story guide."""
