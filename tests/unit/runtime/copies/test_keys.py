"""Keys of dicts that are copies of a target."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.layers import push

from patchkit.runtime.changes.site import Layer
from patchkit.runtime.copies.keys import replace_key

from .loaded import New

if TYPE_CHECKING:
    from types import FrameType

    from .loaded import Loaded

TABLES = {
    "the only key": "table = {up.function: 'f'}",
    "the first": "table = {up.function: 'f', 'a': 1, up.Thing: 2}",
    "in the middle": "table = {'a': 1, up.function: 'f', up.Thing: 2}",
    "the last": "table = {'a': 1, up.Thing: 2, up.function: 'f'}",
}


@pytest.mark.parametrize("source", TABLES.values(), ids=TABLES)
def test_a_key_is_repointed_in_place(loaded: Loaded, source: str) -> None:
    """The dict stays the same object with its items in the same order; undo restores the key."""
    user = loaded.add("up.user", source)
    table = user.table
    before = list(table.items())
    original = loaded.up.function
    site, undo = loaded.changed("function", new := New())
    assert loaded.repoint(site) == (["up.user:table (a key)"], [])
    after = [(new if key is original else key, value) for key, value in before]
    assert user.table is table
    assert list(table.items()) == after
    undo()
    assert user.table is table
    assert list(table.items()) == before


@pytest.mark.parametrize("qualname", ["Thing", "Thing.method"])
def test_classes_and_methods_are_keys_too(loaded: Loaded, qualname: str) -> None:
    """A class or method that is a key, here in a dict of a class, is repointed and restored."""
    user = loaded.add("up.user", f"class A:\n    table = {{up.{qualname}: 1}}")
    (original,) = user.A.table
    site, undo = loaded.changed(qualname, new := New())
    assert loaded.repoint(site) == (["up.user:A.table (a key)"], [])
    assert list(user.A.table) == [new]
    undo()
    assert list(user.A.table) == [original]


def test_a_key_goes_with_its_target(loaded: Loaded) -> None:
    """A key is what its target holds, also after a second patch and the undo of the first."""
    user = loaded.add("up.user", "table = {up.function: 1}")
    original = loaded.up.function
    site, undo = loaded.changed("function")
    loaded.repoint(site)
    undo_second = push(site, Layer(lambda _: New()))
    assert list(user.table) == [site.current]
    undo()
    assert list(user.table) == [site.current]
    undo_second()
    assert list(user.table) == [original]


def test_a_key_that_was_set_while_the_patch_was_applied(loaded: Loaded) -> None:
    """The pass after the undo restores a key that was set to the new object."""
    original = loaded.up.function
    site, undo = loaded.changed("function")
    loaded.repoint(site)
    user = loaded.add("up.user", "table = {0: 0, up.function: 1, 2: 2}")
    undo()
    assert loaded.restore(site) == ["up.user:table (a key)"]
    assert list(user.table) == [0, original, 2]


def test_a_key_that_is_an_object_of_a_body(loaded: Loaded) -> None:
    """A body's object as a key is restored in a module that imports it from the target, and
    stays in any other.
    """
    new, original = New(), loaded.up.function
    site = loaded.site("function")
    undo = push(site, Layer(lambda _: new, base=True))
    loaded.repoint(site)
    user = loaded.add("up.user", "from up import function\ntable = {function: 1}")
    stranger = loaded.add("up.other", table={new: 1})
    undo()
    assert loaded.restore(site) == ["up.user:function", "up.user:table (a key)"]
    assert list(user.table) == [original]
    assert list(stranger.table) == [new]


LEFT = {
    "from collections import OrderedDict\ntable = OrderedDict({up.function: 1})": (
        "up.user:table (a key)"
    ),
    "class Table(dict):\n    def keys(self): raise Warning\ntable = Table({up.function: 1})": (
        "up.user:table (a key)"
    ),
    "def outer(y):\n    def inner(): return y\n    return inner\n"
    "closure = outer({up.function: 1})": "up.user:closure (closure y)",
}


@pytest.mark.parametrize("source", LEFT)
def test_a_key_that_is_out_of_reach(loaded: Loaded, source: str) -> None:
    """A key in a dict of another type, which may keep an order of its own, or in a dict in a
    closure is reported and left.
    """
    loaded.add("up.user", source)
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == ([], [LEFT[source]])


def test_a_key_in_another_package(loaded: Loaded) -> None:
    """A key in another package is reported and left, unless `rebind` names the package."""
    plugin = loaded.add("plugin", "from up import Thing\ntable = {Thing.method: 1}")
    (original,) = plugin.table
    site, _ = loaded.changed("Thing.method")
    assert loaded.repoint(site) == ([], ["plugin:table (a key) (out of scope)"])
    assert list(plugin.table) == [original]
    site, _ = loaded.changed("Thing.method", declared=("plugin",))
    assert loaded.repoint(site) == (["plugin:table (a key)"], [])


def test_a_key_of_unknown_origin(loaded: Loaded) -> None:
    """A key that does not tell that it came from the target is reported and left."""
    shared = New()
    loaded.up.shared = shared
    user = loaded.add("up.user", "table = {up.shared: 1}")
    site, _ = loaded.changed("shared")
    _, left = loaded.repoint(site)
    assert left == ["up.user:table (a key)"]
    assert list(user.table) == [shared]


class Unhashable:
    """Its instances cannot be keys."""

    __hash__ = None  # type: ignore[assignment]


class Equal:
    """Its instances are equal to a key that the dict has."""

    def __eq__(self, other: object) -> bool:
        return other == "there"

    def __hash__(self) -> int:
        return hash("there")


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (Unhashable(), "TypeError: unhashable type: 'Unhashable'"),
        (Equal(), "ValueError: it has an equal key"),
    ],
)
def test_a_key_that_cannot_be_replaced(loaded: Loaded, new: Any, reason: str) -> None:
    """A key is reported with the reason, and its dict is left as it is."""
    user = loaded.add("up.user", "table = {up.function: 1, 'there': 2}")
    before = list(user.table.items())
    site, undo = loaded.changed("function", new)
    assert loaded.repoint(site) == ([], [f"up.user:table (a key) ({reason})"])
    assert list(user.table.items()) == before
    undo()
    assert list(user.table.items()) == before


def test_a_key_that_was_deleted_meanwhile(loaded: Loaded) -> None:
    """Undo does not put back a key that was deleted while the patch was applied."""
    user = loaded.add("up.user", "table = {up.function: 1, 'a': 2}")
    site, undo = loaded.changed("function")
    loaded.repoint(site)
    del user.table[site.current]
    undo()
    assert list(user.table) == ["a"]


def test_no_other_thread_misses_a_key() -> None:
    """While a key is replaced, all other keys and either the old or the new one are there."""
    old, new = object(), object()
    holder: dict[Any, Any] = {"before": 0, old: 1, "after": 2, "last": 3}
    key_sets = []

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode":  # where another thread may go on
            key_sets.append(set(holder))
        return trace

    previous_trace = sys.gettrace()
    # Python 3.12 asks a frame whether to trace instructions as tracing begins, and not later.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        replace_key(holder, old, new)
    finally:
        sys.settrace(previous_trace)
    others = {"before", "after", "last"}
    assert {old, *others} in key_sets
    assert {new, *others} in key_sets
    for keys in key_sets:
        assert keys in ({old, *others}, {new, *others})
    assert list(holder.items()) == [("before", 0), (new, 1), ("after", 2), ("last", 3)]


def test_a_key_that_is_gone_is_a_key_error() -> None:
    """Replacing a key that another thread has deleted meanwhile raises a KeyError."""
    with pytest.raises(KeyError, match="gone"):
        replace_key({"other": 1}, "gone", "new")
