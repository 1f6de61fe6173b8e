"""Carries rows to a later release of upstream."""
