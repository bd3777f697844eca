"""The command line: one module per verb; parse, call the API, print, exit."""
