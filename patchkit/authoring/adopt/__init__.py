"""Rows for a pile of patches that knows nothing of patchkit: read, never run."""
