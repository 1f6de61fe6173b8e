"""From a target to what it is in a release: bindings, classes, members, and what cannot be told."""
