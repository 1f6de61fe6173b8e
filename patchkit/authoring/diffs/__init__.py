"""Writes rows and bodies for what a diff, a release or an edited installation changes."""
