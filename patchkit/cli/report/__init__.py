"""Data in, text out: every file here prints one shape one way, and finds out nothing itself."""
