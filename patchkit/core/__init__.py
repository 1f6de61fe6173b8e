"""What a pack declares, and what every other wing needs."""
