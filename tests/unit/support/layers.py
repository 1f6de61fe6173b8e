"""Layers that a test puts on sites and takes off again."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.runtime.changes.site import Layer, Site


def push(site: Site, layer: Layer) -> Callable[[], None]:
    """Put a layer on and return what takes it off."""
    site.put(layer)
    return functools.partial(site.remove, layer)
