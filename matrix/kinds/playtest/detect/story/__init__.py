"""What is true in a story as it is told: facts, people, and the beats of its guide."""
