"""Reads the releases of upstream packages, and finds out what they define; none of it is run."""
