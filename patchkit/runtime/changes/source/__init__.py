"""Edit: a fragment of a function's source, found, rewritten and compiled in its place."""
