"""Whether judges agree, with each other and with people."""
