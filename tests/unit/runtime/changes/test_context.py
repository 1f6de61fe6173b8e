from __future__ import annotations

import sys

import pytest

from patchkit.errors import UndoError
from patchkit.runtime.changes.context import PreparedLayers, unwind
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


def test_an_undo_that_exits_does_not_stop_the_others() -> None:
    """What a body's undo raises, `sys.exit()` too, is an error like others."""
    undone: list[str] = []

    def fail() -> None:
        raise ValueError("no")

    errors = unwind([lambda: undone.append("first"), fail, sys.exit])
    assert undone == ["first"]
    assert [type(error) for error in errors] == [SystemExit, ValueError]
