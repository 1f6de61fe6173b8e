"""Watches imports: tells when a module is about to execute, and when it has executed."""
