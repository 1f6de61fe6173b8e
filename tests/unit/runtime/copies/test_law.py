"""The law of copies: in scope they follow, elsewhere they are named, and undo restores them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.layers import push
from support.sampling import examples

from patchkit.runtime.changes.sites import Layer

from .loaded import Loaded, New

if TYPE_CHECKING:
    from collections.abc import Callable

PLACES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "global": ("a{n} = {copy}", lambda v: v),
    "class": ("class a{n}:\n    kept = {copy}", lambda v: vars(v)["kept"]),
    "nested": (
        "class a{n}:\n    class inner:\n        kept = {copy}",
        lambda v: vars(v.inner)["kept"],
    ),
    "default": ("def a{n}(x={copy}): ...", lambda v: v.__defaults__[0]),
    "keyword": ("def a{n}(*, x={copy}): ...", lambda v: v.__kwdefaults__["x"]),
    "closure": (
        "a{n} = (lambda x: lambda: x)({copy})",
        lambda v: v.__closure__[0].cell_contents,
    ),
    "table": ("a{n} = {{'k': {copy}}}", lambda v: v["k"]),
    "key": ("a{n} = {{1: 'before', {copy}: 'v', 2: 'after'}}", lambda v: list(v)[1]),
    "row": ("a{n} = [{copy}]", lambda v: v[0]),
    "static": (
        "class a{n}:\n    kept = staticmethod({copy})",
        lambda v: vars(v)["kept"].__func__,
    ),
    "partial": ("import functools\na{n} = functools.partial({copy})", lambda v: v.func),
}
WRITABLE = ("global", "class", "nested", "key")
COPIES = ("up.function", "up.Thing.method")
PLACEMENTS = st.lists(
    st.tuples(
        st.sampled_from(["up.user", "up.deep.user", "plugin", "stranger"]),
        st.sampled_from(sorted(PLACES)),
        st.sampled_from(COPIES),
    ),
    max_size=12,
)


@settings(
    max_examples=examples(few=15, many=30),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(before=PLACEMENTS, meanwhile=PLACEMENTS)
def test_any_placement(before: list[Any], meanwhile: list[Any]) -> None:
    """After apply each copy in scope is the new object, and every other holder is reported.

    After undo each is the original again, also those made while the patch was on.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        loaded = Loaded(monkeypatch)
        originals = {copy: eval(copy, {"up": loaded.up}) for copy in COPIES}
        sites = {
            copy: loaded.site(copy.partition(".")[2], ("plugin",)) for copy in COPIES
        }
        old = placed(loaded, before, 0)
        undos = [push(site, Layer(lambda _: New())) for site in sites.values()]
        rebound, left = loaded.repoint(*sites.values())
        for module, kind, copy, look in old:
            follows = kind in WRITABLE and module != "stranger"
            assert look() is (sites[copy].current if follows else originals[copy])
        assert len(rebound) == sum(
            kind in WRITABLE and m != "stranger" for m, kind, *_ in old
        )
        assert len(rebound) + len(left) == len(old)
        new = placed(loaded, meanwhile, len(before))
        for undo in undos:
            undo()
        loaded.restore(*sites.values())
        assert all(look() is originals[copy] for _, _, copy, look in old)
        for module, kind, copy, look in new:
            if kind in WRITABLE and module != "stranger":
                assert look() is originals[copy]


def placed(loaded: Loaded, placements: list[Any], start: int) -> list[Any]:
    """Write the copies into modules; each with what looks at it."""
    found = []
    for number, (module, kind, copy) in enumerate(placements, start):
        source, look = PLACES[kind]
        name = f"{module}.m{number}"
        made = loaded.add(name, source.format(n=number, copy=copy))
        found.append(
            (
                module,
                kind,
                copy,
                lambda m=made, n=number, f=look: f(getattr(m, f"a{n}")),
            )
        )
    return found
