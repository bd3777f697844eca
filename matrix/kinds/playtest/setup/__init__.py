"""What a play-test is set up from: packs, prompts, people, options."""
