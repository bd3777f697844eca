"""Play-tests: archetypal players and their spokesperson put a narrator to the test."""
