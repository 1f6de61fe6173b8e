"""Reads and writes locks, the files that record which upstream sources were reviewed."""
