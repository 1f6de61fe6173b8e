"""Edits functions: a fragment of the source is rewritten, and compiled into the same function."""
