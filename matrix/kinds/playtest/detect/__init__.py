"""What is read off a turn: labels, tangents, loops, contradictions, strangers."""
