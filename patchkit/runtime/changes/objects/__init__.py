"""Replaces, wraps and adds objects: what a body brings takes the place of a target."""
