"""One file a command; `command` is the click command."""
