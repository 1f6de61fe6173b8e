"""Writes what rows make of a release as a diff of its files."""
