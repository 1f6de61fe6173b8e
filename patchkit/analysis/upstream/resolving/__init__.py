"""Resolves targets in the source of a release: bindings, classes, members, what is not known."""
