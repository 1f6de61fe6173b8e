"""Arms processes: this one, and those that it starts."""
