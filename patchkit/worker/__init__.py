"""Patches for the processes that hold the model; patchkit itself needs none there by now."""

from patchkit.rows.declaration import Patch

PATCHES: tuple[Patch, ...] = ()
