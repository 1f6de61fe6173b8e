"""Counts for `patchkit probe` where targets are imported and called; it changes no result."""
