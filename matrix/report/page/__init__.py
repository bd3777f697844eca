"""The report of a run as one page that can be opened, printed and sent: no script, no request."""
