"""Patches for a test or a `with`, undone afterwards."""
