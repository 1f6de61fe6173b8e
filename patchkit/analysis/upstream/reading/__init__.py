"""Reads the files of releases: installed, in a directory, an archive, an index or git."""
