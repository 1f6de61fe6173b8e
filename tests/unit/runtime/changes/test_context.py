from __future__ import annotations

import pytest

from patchkit.errors import UndoError
from patchkit.runtime.changes.context import PreparedLayers
from patchkit.runtime.changes.owners import locate
from patchkit.runtime.changes.site import Layer
from runtime.changes.kinds import Bench


def test_layers_come_and_go_together() -> None:
    """`apply` puts all layers on, and `undo` takes all off, also where one was overwritten."""
    bench = Bench("first = second = third = 1", "")
    names = ("first", "second", "third")
    sites = [bench.sites.at(locate(bench.upstream, name)) for name in names]
    layers = PreparedLayers([(site, Layer(lambda _: 2)) for site in sites])
    layers.undo()
    layers.apply()
    assert [getattr(bench.upstream, name) for name in names] == [2, 2, 2]
    assert list(layers.sites) == sites
    bench.upstream.second = "stranger"
    with pytest.raises(UndoError, match="second"):
        layers.undo()
    assert [getattr(bench.upstream, name) for name in names] == [1, "stranger", 1]
