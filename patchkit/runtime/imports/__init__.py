"""Watching imports: a module about to execute, and executed."""
