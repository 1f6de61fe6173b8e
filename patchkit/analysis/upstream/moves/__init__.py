"""Finds where a target went that a release no longer has."""
