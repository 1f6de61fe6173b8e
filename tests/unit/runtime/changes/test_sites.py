from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.layers import push

from patchkit.core.rows.target import Item
from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.owners import MISSING, Location, namespace, read
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites


@dataclass(frozen=True)
class Around:
    """What a wrapping layer makes: it shows what lies below."""

    label: int
    below: Any


def wrapping(label: int) -> Layer:
    """A layer as of Wrap: it goes around what lies below."""
    return Layer(lambda below: Around(label, below))


def replacing(value: Any) -> Layer:
    """A layer as of Replace: it takes the place of the original."""
    return Layer(lambda _: value, base=True)


def site_on(owner: Any, name: str = "name") -> Site:
    """The site of an owner's attribute, among sites of its own."""
    return Sites().at(
        Location(owner, name, read(owner, name), name in namespace(owner))
    )


def upstream(value: Any = "original") -> Any:
    """A module with one attribute, `name`."""
    module = ModuleType("upstream")
    vars(module)["name"] = value
    return module


def expected(original: Any, layers: list[tuple[int, bool]]) -> Any:
    """The oracle: the last replacement, or the original, inside the wrappers in order."""
    value = original
    for label, base in layers:
        value = ("replacement", label) if base else value
    for label, base in layers:
        value = value if base else Around(label, value)
    return value


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.booleans()),
        st.tuples(st.just("remove"), st.integers(0, 20)),
    ),
    max_size=25,
)


@given(STEPS)
def test_any_order_of_pushes_and_removals(steps: list[tuple[str, Any]]) -> None:
    """The value is the original with the layers that are left, whatever came and went before."""
    original = object()
    module = upstream(original)
    site = site_on(module)
    alive: list[tuple[int, bool]] = []
    undos: list[Any] = []
    for label, (step, detail) in enumerate(steps):
        if step == "push":
            layer = replacing(("replacement", label)) if detail else wrapping(label)
            undos.append(push(site, layer))
            alive.append((label, detail))
        elif undos:
            index = detail % len(undos)
            undos.pop(index)()
            alive.pop(index)
        assert module.name == expected(original, alive)
        assert site.is_intact()
    while undos:
        undos.pop(0)()
    assert module.name is original


@given(STEPS)
def test_copies_follow(steps: list[tuple[str, Any]]) -> None:
    """A copy that a site remembers holds what the attribute holds, after every step."""
    module = upstream()
    importer = {"copy": "original", "theirs": "other"}
    site = site_on(module)
    Sites().follow(site, importer, Item("copy"))
    undos: list[Any] = []
    for label, (step, detail) in enumerate(steps):
        if step == "push":
            undos.append(push(site, wrapping(label)))
        elif undos:
            undos.pop(detail % len(undos))()
        assert importer == {"copy": module.name, "theirs": "other"}


class Closing(dict[str, Any]):
    """A registry that takes nothing any more once it is closed."""

    closed = False

    def __setitem__(self, key: str, value: Any) -> None:
        if self.closed:
            raise RuntimeError("the registry is closed")
        super().__setitem__(key, value)


def test_a_copy_that_refuses_the_undo() -> None:
    """Undo restores all others, and names it in its error; a later undo restores it too."""
    module = upstream()
    closing = Closing(copy="original")
    importer = {"copy": "original"}
    site = site_on(module)
    sites = Sites()
    for owner in (closing, importer):
        sites.follow(site, owner, Item("copy"))
    undo = push(site, replacing("patched"))
    closing.closed = True
    with pytest.raises(
        UndoError, match=r"\['copy'\] \(RuntimeError: the registry is closed\)"
    ):
        undo()
    assert module.name == "original"
    assert importer["copy"] == "original"
    assert closing["copy"] == "patched"
    later_layer = replacing("another")
    with pytest.raises(TargetError, match="the registry is closed"):
        site.put(later_layer)
    closing.closed = False
    site.remove(later_layer)
    assert closing["copy"] == "original"


def test_a_place_that_refuses_the_undo() -> None:
    """Undo raises the place's own error, and restores its copies nevertheless."""
    closing = Closing(name="original")
    importer = {"copy": "original"}
    site = Sites().at(Location(closing, Item("name"), "original", own=True))
    Sites().follow(site, importer, Item("copy"))
    undo = push(site, replacing("patched"))
    closing.closed = True
    with pytest.raises(RuntimeError, match="closed"):
        undo()
    assert (closing["name"], importer["copy"]) == ("patched", "original")


def test_a_copy_that_was_overwritten_is_left_alone() -> None:
    """Who assigned something else to the copied name keeps it."""
    importer = {"copy": "original"}
    site = site_on(upstream())
    Sites().follow(site, importer, Item("copy"))
    undo = push(site, wrapping(1))
    importer["copy"] = "theirs"
    undo()
    assert importer == {"copy": "theirs"}


def test_an_inherited_attribute_is_deleted_at_the_end() -> None:
    """A class that only inherited the attribute has none of its own after undo."""

    class Base:
        name: Any = "original"

    class Child(Base):
        pass

    undo = push(site_on(Child), wrapping(1))
    assert vars(Child)["name"] == Around(1, "original")
    assert Base.name == "original"
    undo()
    assert "name" not in vars(Child)


def test_an_overwritten_attribute_is_not_touched() -> None:
    """Undo over somebody else's value is an error that names both, and leaves the value."""
    module = upstream()
    undo = push(site_on(module), wrapping(1))
    module.name = "theirs"
    with pytest.raises(UndoError, match=r"upstream\.name was overwritten .* 'theirs'"):
        undo()
    assert module.name == "theirs"


def test_one_site_for_an_attribute() -> None:
    """Two patches on one attribute share its site, so that each can be taken off alone."""
    module = upstream()
    sites = Sites()
    first = sites.at(Location(module, "name", "original", True))
    push(first, wrapping(1))
    assert sites.at(Location(module, "name", module.name, True)) is first


def test_a_new_execution_makes_a_new_site() -> None:
    """What a reload has put there is the original from then on."""
    module = upstream()
    sites = Sites()
    first = sites.at(Location(module, "name", "original", True))
    push(first, wrapping(1))
    module.name = "reloaded"
    second = sites.at(Location(module, "name", "reloaded", True))
    assert second is not first
    push(second, wrapping(2))()
    assert module.name == "reloaded"


def test_what_is_bare_in_a_module_that_has_executed_anew_is_forgotten() -> None:
    """Sites without layers are let go of that lie in a module, or in a class of it."""
    module = upstream()
    sites = Sites()
    named, patched, other = (
        sites.at(Location(module, name, "original", True))
        for name in ("name", "alias", "other")
    )
    cls = type("Thing", (), {"__module__": "up.mod", "name": 1})
    sites.at(Location(cls, "name", 1, True))
    named.home = patched.home = "up.mod"
    module.alias = "original"
    push(patched, wrapping(1))
    sites.forget("up.mod")
    assert list(sites) == [patched, other]


def test_a_value_that_cannot_be_set_leaves_the_site_usable() -> None:
    """An owner that refuses the attribute raises, and a later try begins from the original."""

    class Stubborn:
        name = "original"
        stubborn = True

        def __setattr__(self, key: str, value: object) -> None:
            if self.stubborn:
                raise AttributeError("cannot be set")
            super().__setattr__(key, value)

    owner: Any = Stubborn()
    sites = Sites()
    location = Location(owner, "name", "original", False)
    refused = wrapping(1)
    with pytest.raises(TargetError, match=r"\(AttributeError: cannot be set\); use"):
        push(sites.at(location), refused)
    sites.at(location).remove(refused)
    Stubborn.stubborn = False
    undo = push(sites.at(location), wrapping(2))
    assert owner.name == Around(2, "original")
    undo()
    assert read(owner, "name") == "original"
    assert "name" not in namespace(owner)
    assert read(owner, "absent") is MISSING


def test_what_nobody_holds_is_forgotten() -> None:
    """Thousands of cycles leave nothing behind, and what somebody has copied stays known."""
    module = upstream()
    site = site_on(module)
    undo_first = push(site, wrapping(0))
    copied = []
    for label in range(1, 1000):
        layer = replacing(Around(label, "replaced")) if label % 2 else wrapping(label)
        undo = push(site, layer)
        if label in (500, 501):
            copied.append(module.name)
        undo()
    assert len(site.wrappers) + len(site.replacements) <= 2 * len(copied)
    assert all(site.knows(value) for value in copied)
    undo_first()
    assert module.name == "original"


def test_code_since_notices_a_swapped_code() -> None:
    """`code_since` gives the function and its former code if that was swapped, else None."""

    def ours() -> str:
        return "ours"

    site = site_on(upstream())
    assert site.code_since() is None
    undo = push(site, replacing(ours))
    assert site.code_since() is None
    before = ours.__code__
    ours.__code__ = (lambda: "theirs").__code__
    assert site.code_since() == (ours, before)
    undo()
    assert site.code_since() is None


def test_code_since_of_what_is_no_function() -> None:
    """`code_since` is None where something else than a function was put."""
    site = site_on(upstream())
    push(site, replacing("replaced"))
    assert site.code_since() is None


def test_former_wrappers_and_former_replacements_are_kept_apart() -> None:
    """A former value that somebody holds is listed by its kind; an unchanged original is not."""
    site = site_on(upstream())
    undo_unchanged = push(site, Layer(lambda below: below))
    held = [site.current]
    undo_unchanged()
    assert (site.wrappers, site.replacements) == ([], [])
    undo_replacement = push(site, replacing(Around(1, "replaced")))
    held.append(site.current)
    undo_replacement()
    assert (site.wrappers, site.replacements) == ([], held[1:])
    undo_wrapper = push(site, wrapping(2))
    held.append(site.current)
    undo_wrapper()
    assert (site.wrappers, site.replacements) == (held[2:], held[1:2])


def test_a_former_wrapper_that_is_held_weakly_stays() -> None:
    """An event bus with a weak reference to a wrapper keeps its subscriber when layers change."""
    site = site_on(upstream())
    push(site, wrapping(1))
    subscriber = weakref.ref(site.current)
    push(site, wrapping(2))
    push(site, wrapping(3))
    gc.collect()
    assert subscriber() is not None


def test_a_replacement_that_a_wrap_leaves_as_it_is() -> None:
    """A replacement that a wrapper returns unchanged is listed as a former replacement."""
    site = site_on(upstream())
    undo_replacement = push(site, replacing(Around(1, "replaced")))
    undo_unchanged = push(site, Layer(lambda below: below))
    held = site.current
    undo_unchanged()
    undo_replacement()
    assert (site.wrappers, site.replacements) == ([], [held])


def test_the_leader_of_a_copy() -> None:
    """`leader` gives the last site that the copy follows, and None if it follows none any more."""
    module = upstream()
    sites = Sites()
    first = sites.at(Location(module, "name", "original", True))
    second = sites.at(Location(module, "other", "original", True))
    copy = ModuleType("copy")
    assert sites.leader(copy, "name") is None
    sites.follow(first, copy, "name")
    assert (sites.leader(copy, "name"), sites.leader(copy, "other")) == (first, None)
    sites.follow(second, copy, "name")
    assert sites.leader(copy, "name") is second
    assert not first.aliases
    sites.unfollow(second, copy, "name")
    assert sites.leader(copy, "name") is None


def test_noted_keeps_one_state_for_each_kind() -> None:
    """`noted` makes a kind's state when first asked, and returns the same one from then on."""
    sites = Sites()
    noted = sites.noted(list[int])
    assert noted == []
    assert sites.noted(list[int]) is noted
    assert sites.noted(dict[int, int]) == {}


def test_a_fork_frees_a_site_that_another_thread_changes() -> None:
    """After `after_fork` the guard of a site that another thread held can be acquired."""
    module = upstream()
    sites = Sites()
    site = sites.at(Location(module, "name", "original", True))
    is_held = threading.Event()
    may_go = threading.Event()

    def hold() -> None:
        with site.guard:
            is_held.set()
            may_go.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(20)
    try:
        assert not site.guard.acquire(blocking=False)
        sites.after_fork()
        assert site.guard.acquire(blocking=False)
        site.guard.release()
        assert sites.at(Location(module, "name", "original", True)) is site
    finally:
        may_go.set()
        thread.join(20)
