"""A library that buys at a shop of the test's."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.upstream.reading.cache import Cache
from patchkit.upstream.reading.releases import Library
from patchkit.upstream.reading.settings import PipSettings
from upstream.server import Shop, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHEEL = "up-{}-py3-none-any.whl"


@dataclass
class Customer:
    """
    Opens libraries, each as a new process would.

    Args:
        shop: the server's.
        place: holds the cache.
        notices: what libraries have said, in order.

    """

    shop: Shop
    place: Path
    notices: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def library(self, *, offline: bool = False, **settings: Any) -> Iterator[Library]:
        """A library that asks the shop, unless the settings say otherwise."""
        settings = {
            "indexes": (f"{self.shop.url}/simple",),
            "timeout": 5.0,
            "retries": 1,
        } | settings
        cache = Cache(self.place, self.notices.append)
        with Library(
            PipSettings(**settings), cache, offline=offline, notice=self.notices.append
        ) as library:
            yield library


@contextlib.contextmanager
def customer(place: Path) -> Iterator[Customer]:
    """A customer of a shop that is still empty."""
    with serving(Shop()) as shop:
        yield Customer(shop, place / "cache")
