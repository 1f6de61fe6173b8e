"""Truth about upstream: its releases, read where they lie, and what they define."""
