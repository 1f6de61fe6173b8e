"""Applies patches for the time of a test or of a `with`, and undoes them afterwards."""
