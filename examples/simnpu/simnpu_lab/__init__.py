"""
What tests and demonstrations run, on the simulated machine or not: a model, an engine, a Ray.

`cluster` and `processes` need nothing but the standard library; the others are scripts.
"""
