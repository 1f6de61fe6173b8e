"""What tests, demonstrations and the conformance run share: a model, an engine, a Ray.

It runs on accelerators, on CPUs, and on the simulated machine of `examples/simnpu`, which it does
not need. `cluster` and `processes` use only the standard library; the others are scripts.
"""
