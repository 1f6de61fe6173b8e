"""
What tests and the demonstration run on the simulated machine: a model, an engine, a Ray of its own.

`cluster` and `processes` need nothing but the standard library; the others are scripts.
"""
