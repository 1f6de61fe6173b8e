"""How patchkit arrives in a process, and in those that it starts."""
