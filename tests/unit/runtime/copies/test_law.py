"""The law of copies: in scope they follow, elsewhere they are named, and undo restores them all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.layers import push
from support.sampling import examples

from patchkit.runtime.changes.site import Layer

from .loaded import Loaded, New

if TYPE_CHECKING:
    from collections.abc import Callable

# For each kind of place: the code that puts a copy there, and what reads the copy again.
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
def test_copies_in_any_place_follow_apply_and_undo(
    before: list[Any], meanwhile: list[Any]
) -> None:
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
        following = [_follows(module, kind) for module, kind, _, _ in old]
        for (_, _, copy, look), follows in zip(old, following, strict=True):
            expected = sites[copy].current if follows else originals[copy]
            assert look() is expected
        assert len(rebound) == sum(following)
        assert len(rebound) + len(left) == len(old)
        new = placed(loaded, meanwhile, len(before))
        for undo in undos:
            undo()
        loaded.restore(*sites.values())
        for _, _, copy, look in old:
            assert look() is originals[copy]
        for module, kind, copy, look in new:
            if _follows(module, kind):
                assert look() is originals[copy]


def _follows(module: str, kind: str) -> bool:
    """Tell whether a copy of a kind in a module is repointed."""
    return kind in WRITABLE and module != "stranger"


def placed(loaded: Loaded, placements: list[Any], start: int) -> list[Any]:
    """Write each copy into a module of its own; return them with functions that read them."""
    copies = []
    for number, (module, kind, copy) in enumerate(placements, start):
        source, read = PLACES[kind]
        code = source.format(n=number, copy=copy)
        holder = loaded.add(f"{module}.m{number}", code)
        copies.append((module, kind, copy, partial(_look, holder, f"a{number}", read)))
    return copies


def _look(holder: Any, name: str, read: Callable[[Any], Any]) -> Any:
    """Read the copy that lies in a module under a name."""
    return read(getattr(holder, name))
