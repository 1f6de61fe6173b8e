"""A row, a body and a test to start from: worked out as text, then written as a whole."""
