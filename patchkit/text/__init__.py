"""Texts for messages: where a row stands, what a mistyped word may have meant."""
