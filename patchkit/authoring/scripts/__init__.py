"""Runs scripts that edit files on a copy of a release, and writes rows for what differs."""
