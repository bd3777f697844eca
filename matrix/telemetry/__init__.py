"""What a run tells the outside: events of its processes, spans of its calls, nothing secret."""
