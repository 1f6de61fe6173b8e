"""Ways from one place to another, as code says them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.runtime.copies.origins import Origins

if TYPE_CHECKING:
    from .loaded import Loaded


def test_a_place_leads_to_where_it_was_bound_from(loaded: Loaded) -> None:
    """A place leads to each name that it was bound from, in one step or more, and to no other."""
    first = loaded.add("up.first", "from up import function as one\ntwo = 2")
    second = loaded.add("up.second", "from up.first import one as two")
    origins = Origins(loaded.sites)
    assert origins.leads((second, "two"), (first, "one"))
    assert origins.leads((second, "two"), (loaded.up, "function"))
    for module, name in (
        (first, "two"),
        (second, "one"),
        (loaded.up, "Thing"),
        (loaded.up, "two"),
    ):
        assert not origins.leads((second, "two"), (module, name))
    assert not origins.leads((first, "one"), (second, "two"))


def test_a_place_that_was_bound_from_a_name_of_its_own_module(loaded: Loaded) -> None:
    """A place that was bound from another name of its module leads to it, and on from there."""
    user = loaded.add(
        "up.user", "from up import function\nmine = function\nkept = mine"
    )
    origins = Origins(loaded.sites)
    for goal in ((user, "mine"), (user, "function"), (loaded.up, "function")):
        assert origins.leads((user, "kept"), goal)
    assert not origins.leads((user, "mine"), (user, "kept"))


def test_two_places_that_were_bound_from_one_another(loaded: Loaded) -> None:
    """Each of two places that were bound from one another leads to the other, and nowhere else."""
    loaded.add("up.a", function=loaded.up.function)
    b = loaded.add("up.b", "from up.a import function")
    a = loaded.add("up.a", "from up.b import function")
    origins = Origins(loaded.sites)
    assert origins.leads((a, "function"), (b, "function"))
    assert origins.leads((b, "function"), (a, "function"))
    assert not origins.leads((a, "function"), (loaded.up, "function"))


def test_a_class_that_a_function_makes(loaded: Loaded) -> None:
    """A name in a class that a function makes may be the function's own, and leads nowhere."""
    source = """
from up import function
def make(function):
    class Inner:
        kept = function
        again = kept
    return Inner
class Outer:
    kept = function
Inner = make(print)
"""
    user = loaded.add("up.user", source)
    for cls in (user.Inner, user.Outer):
        cls.__module__ = "up.user"
    origins = Origins(loaded.sites)
    assert origins.is_copy(user.Outer, "kept")
    assert not origins.is_copy(user.Inner, "kept")
    assert origins.leads((user.Outer, "kept"), (loaded.up, "function"))
    assert not origins.leads((user.Inner, "kept"), (loaded.up, "function"))
