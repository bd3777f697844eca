"""The engine: governor, durable sessions, workers, driver, and the in-process executor."""
