"""What runs here, found without importing it, and what a version counts as."""
