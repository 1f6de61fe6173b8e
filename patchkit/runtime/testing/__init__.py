"""Applies patches for the time of a test or of a `with` block, and undoes them afterwards."""
