"""How many bytes come over the network."""

from __future__ import annotations

import functools
from typing import Any

from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.upstream.reading.web import Reply, Web


class MeteredWeb(Web):
    """Counts what it is answered; files that are fetched whole are not counted."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._sizes: list[int] = []  # several threads add to it

    @property
    def moved(self) -> int:
        """Bytes so far."""
        return sum(self._sizes)

    def ask(self, *args: Any) -> Reply:
        """Ask, and count what comes back."""
        reply = super().ask(*args)
        self._sizes.append(len(reply.body))
        return reply


class MeteredLibrary(Library):
    """A library that counts what it fetches."""

    @functools.cached_property
    def web(self) -> MeteredWeb:
        """What fetches."""
        return MeteredWeb(self.settings, offline=self.offline)
