"""What releases and runs say, read from outside."""
