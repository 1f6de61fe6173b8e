"""Reads and writes the text of modules of upstream, of piles and of bodies."""
