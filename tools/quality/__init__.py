"""What the house measures, and the limits that it holds: `python -m quality`, from `tools/`."""
