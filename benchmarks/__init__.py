"""What patchkit costs, measured beside what else could do its work. Run `python -m benchmarks`."""
