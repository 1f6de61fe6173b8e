"""Writes rows and bodies for a pile of patches that knows nothing of patchkit."""
