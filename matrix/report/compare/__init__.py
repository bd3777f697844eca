"""From a run's tables to a verdict on one factor, and what people's labels make of it."""
