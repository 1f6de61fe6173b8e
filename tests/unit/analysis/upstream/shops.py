"""A library that buys at a shop of the test's."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analysis.upstream import archives
from analysis.upstream.server import Shop, serving
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.parallel import for_each
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchkit.analysis.upstream.reading.releases import Release
    from patchkit.core.versions.wheel_tags import Machine

WHEEL = "up-{}-py3-none-any.whl"


@dataclass
class Customer:
    """Opens libraries, each as a new process would.

    Args:
        shop: the server's.
        place: holds the cache.
        notices: what libraries have said, in order.
    """

    shop: Shop
    place: Path
    notices: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def library(
        self,
        *,
        offline: bool = False,
        machine: Machine | None = None,
        **settings: Any,
    ) -> Iterator[Library]:
        """A library that asks the shop, unless the settings say otherwise."""
        settings = {
            "indexes": (f"{self.shop.url}/simple",),
            "timeout": 5.0,
            "retries": 1,
        } | settings
        cache = Cache(self.place, self.notices.append)
        with Library(
            PipSettings(**settings),
            cache,
            offline=offline,
            machine=machine,
            notice=self.notices.append,
        ) as library:
            yield library


@contextlib.contextmanager
def customer(place: Path) -> Iterator[Customer]:
    """A customer of a shop that is still empty."""
    with serving(Shop()) as shop:
        yield Customer(shop, place / "cache")


def prefetch(releases: list[Release], paths: list[str]) -> dict[str, UpstreamError]:
    """Fetch files of many releases at once: the error of each that cannot be read."""
    results = for_each(releases, lambda release: release.source.prefetch(paths))
    errors: dict[str, UpstreamError] = {}
    for release, result in zip(releases, results, strict=True):
        if isinstance(result, UpstreamError):
            errors[release.version] = result
    return errors


def stock(buyer: Customer, *versions: str, name: str = WHEEL) -> None:
    """Put wheels on the shelf; each holds its version."""
    for version in versions:
        files = archives.spread() | {"up/version.py": version.encode()}
        buyer.shop.files[name.format(version)] = archives.wheel(files, method=0)


def found_versions(buyer: Customer, spec: str) -> list[str]:
    """The versions that the customer finds for a requirement."""
    with buyer.library() as library:
        return [release.version for release in find_releases(spec, library)]


def age(library: Library, url: str) -> None:
    """Date a page in the cache back, so that it counts as old."""
    page = library.cache.page(url)
    assert page is not None
    library.cache.keep_page(url, page._replace(fetched=100_000.0))
