"""Releases, read where they lie: installed, a tree, a wheel or source distribution, an index."""
