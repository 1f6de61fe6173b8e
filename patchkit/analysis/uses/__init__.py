"""What Python files use of other distributions, read from their source."""
