"""Source code as text: matched, rewritten, indented, compared by its wording."""
