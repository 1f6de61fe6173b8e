from __future__ import annotations

import pytest

from changes.kinds import Bench
from patchkit.changes.layered import PreparedLayer
from patchkit.changes.resolve import locate
from patchkit.changes.sites import Layer
from patchkit.changes.together import PreparedTogether
from patchkit.errors import UndoError


def test_parts_come_and_go_together() -> None:
    """All are put on, and all are taken off, also where one of them was overwritten."""
    bench = Bench("first = second = third = 1", "")
    names = ("first", "second", "third")
    sites = [bench.sites.at(locate(bench.upstream, name)) for name in names]
    together = PreparedTogether([PreparedLayer(site, Layer(lambda _: 2)) for site in sites])
    together.undo()
    together.apply()
    assert [getattr(bench.upstream, name) for name in names] == [2, 2, 2]
    assert list(together.sites) == sites
    bench.upstream.second = "stranger"
    with pytest.raises(UndoError, match="second"):
        together.undo()
    assert [getattr(bench.upstream, name) for name in names] == [1, "stranger", 1]
