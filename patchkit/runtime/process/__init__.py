"""The state of this process: its roles, its patches, and what it tells others."""
