"""The law of places that hang together: each holds what a fresh process with its rows would."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.packages import World, row
from support.sampling import examples

IMPL = """
def f(): return ["f"]
class B:
    def m(self): return ["m"]
class W:
    def part(self): return ["part"]
"""
API = """
from up.impl import f, B
from up.impl import f as g
class S(B): pass
class T(S): pass
class Holder: pass
held = T()
keeper = Holder()
keeper.f = f
TABLE = {"f": f}
WHOLE = {"k": f}
"""
USER = """
from up.api import f, g
"""


class Place(NamedTuple):
    """A place that a row can change, what it derives from, and how it is called.

    Args:
        target: Its target.
        origin: The name of the place that it derives from; "" for none.
        call: The expression that calls what it holds.
        is_copied: Whether it holds a copy that follows only below a patch of its own.
    """

    target: str
    origin: str
    call: str
    is_copied: bool = False

    def answer(self) -> Any:
        """Call what it holds."""
        modules = {name: sys.modules[f"up.{name}"] for name in ("impl", "api", "user")}
        return eval(self.call, dict(modules))


PLACES = {
    "f": Place("up.impl:f", "", "impl.f()"),
    "api": Place("up.api:f", "f", "api.f()"),
    "g": Place("up.api:g", "f", "api.g()"),
    "user": Place("up.user:f", "api", "user.f()"),
    "item": Place("up.api:TABLE['f']", "f", "api.TABLE['f']()", is_copied=True),
    "own": Place("up.api:keeper.f", "f", "api.keeper.f()", is_copied=True),
    "B": Place("up.impl:B.m", "", "impl.B().m()"),
    "S": Place("up.api:S.m", "B", "api.S().m()"),
    "T": Place("up.api:T.m", "S", "api.T().m()"),
    "held": Place("up.api:held.m", "T", "api.held.m()"),
    "part": Place("up.impl:W.part", "", "impl.W().part()"),
}
BODY = """
from up import impl
def wrap_{name}(wrapped, instance, args, kwargs):
    return [{name!r}, *wrapped(*args, **kwargs)]
def decorate_{name}(target):
    return lambda *args: [{name!r}, *target(*args)]
def replace_{name}(*self):
    return [{name!r}]
class W_{name}(impl.W):
    def part(self): return [{name!r}]
def derive_{name}(cls):
    class Derived(cls):
        def part(self): return [{name!r}, *super().part()]
    return Derived
"""


class Change(NamedTuple):
    """One row: the place that it changes, and how."""

    place: str
    kind: str

    def source(self, name: str, body: str) -> str:
        """Return the source of the row of a name, and with a body."""
        if self.kind == "whole":
            return row(name, body, f"Replace('up.impl:W', by='W_{name}')")
        if self.kind == "derive":
            return row(name, body, f"Decorate('up.impl:W', by='derive_{name}')")
        target, by = PLACES[self.place].target, self.kind.lower()
        return row(name, body, f"{self.kind}({target!r}, by='{by}_{name}')")


FAMILIES = (
    ("f", "api", "g", "user", "item", "own"),
    ("f", "api", "user"),
    ("B", "S", "T", "held"),
    ("part", "W"),
)


def _change(place: str, kind: str) -> Change:
    if place == "W":
        kind = "derive" if kind == "Decorate" else "whole"
    return Change(place, kind)


def _has_one_class(rows: list[Change]) -> bool:
    """Whether no two rows bring a class: a body's class is made once, of what is there then."""
    return sum(change.place == "W" for change in rows) < 2


ROWS = st.sampled_from(FAMILIES).flatmap(
    lambda family: st.lists(
        st.builds(
            _change,
            st.sampled_from(family),
            st.sampled_from(["Wrap", "Wrap", "Decorate", "Replace"]),
        ),
        min_size=2,
        max_size=5,
    ).filter(_has_one_class)
)
STEPS = st.lists(
    st.tuples(st.booleans(), st.sets(st.integers(0, 4), min_size=1)),
    max_size=5,
    min_size=1,
)


def expected(place: str, rows: list[Change], on: set[int]) -> list[str]:
    """What a place answers: the later row lies on the earlier one, on what it derives from."""
    if place == "part":
        return _expected_part(rows, on)
    origin = PLACES[place].origin
    below = [place] if not origin else expected(origin, rows, on)
    if place == "B":
        below = ["m"]
    wraps: list[str] = []
    for number in sorted(on):
        change = rows[number]
        if change.place != place:
            continue
        if change.kind == "Replace":
            below = [f"p{number}"]
        else:
            wraps.insert(0, f"p{number}")
    return [*wraps, *below]


def _expected_part(rows: list[Change], on: set[int]) -> list[str]:
    """What the method of a class answers, in whose place rows put other classes.

    Later rows change the method of the class that is there by then: that of a body, which has one
    of its own, or one that derives from the former, whose method calls that of the former.
    """
    below = ["part"]
    wraps: list[str] = []
    for number in sorted(on):
        kind = rows[number].kind
        if kind == "whole":
            below, wraps = [f"p{number}"], []
        elif kind == "derive":
            below, wraps = [f"p{number}", *wraps, *below], []
        elif rows[number].place != "part":
            continue
        elif kind == "Replace":
            below = [f"p{number}"]
        else:
            wraps.insert(0, f"p{number}")
    return [*wraps, *below]


def is_told(place: str, rows: list[Change], on: set[int]) -> bool:
    """Whether the law says what a place holds: not of a copy that nobody repoints."""
    if not PLACES[place].is_copied:
        return True
    return any(rows[number].place == place for number in on)


@settings(
    max_examples=examples(few=25, many=120),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(rows=ROWS, steps=STEPS, late=st.booleans(), share=st.booleans())
@example(
    rows=[Change(place, "Wrap") for place in ("T", "S", "B")],
    steps=[(True, {1}), (False, {1}), (True, {0, 1, 2})],
    late=False,
    share=False,
)
@example(
    rows=[Change(place, "Wrap") for place in ("f", "api", "f", "f", "f")],
    steps=[(True, {0, 1, 4}), (False, {1, 4}), (True, {2})],
    late=False,
    share=False,
)
@example(
    rows=[Change("held", kind) for kind in ("Wrap", "Decorate", "Wrap")],
    steps=[(True, {0}), (True, {2}), (True, {1}), (False, {0})],
    late=False,
    share=False,
)
@example(
    rows=[Change("W", "derive"), Change("part", "Replace")],
    steps=[(True, {0, 1})],
    late=False,
    share=False,
)
@example(
    rows=[Change("part", "Wrap"), Change("W", "derive"), Change("part", "Wrap")],
    steps=[(True, {0, 2}), (True, {1}), (False, {1}), (True, {1}), (False, {0})],
    late=False,
    share=False,
)
def test_places_that_hang_together_are_changed_together(
    rows: list[Change], steps: list[Any], late: bool, share: bool
) -> None:
    """Any rows, any order, before or after the import, one body or several: as a fresh process."""
    folder = Path(tempfile.mkdtemp())
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    world = World(folder)
    world.module("up.impl", IMPL)
    world.module("up.api", API)
    world.module("up.user", USER)
    names = [f"p{number}" for number in range(len(rows))]
    bodies: dict[str, str] = {}
    sources: list[str] = []
    for change, name in zip(rows, names, strict=True):
        body = "patch_all" if share else f"patch_{name}"
        bodies[body] = bodies.get(body, "") + BODY.format(name=name)
        sources.append(change.source(name, body))
    world.pack(*sources, **bodies)
    session = world.session()
    try:
        if late:
            importlib.import_module("up.user")
        session.arm(frozenset(), lent=True)
        on: set[int] = set()
        for is_apply, numbers in [*steps, (False, set(range(5)))]:
            known = {number for number in numbers if number < len(rows)}
            changed = sorted(known - on if is_apply else known & on)
            if is_apply and changed:
                session.blocks.hold([names[number] for number in changed])
                on |= set(changed)
            elif changed:
                session.blocks.let_go([names[number] for number in changed])
                on -= set(changed)
            importlib.import_module("up.user")
            for place, about in PLACES.items():
                if is_told(place, rows, on):
                    assert about.answer() == expected(place, rows, on), (place, on)
    finally:
        session.stand_down()
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in {"up", "pack"}:
                del sys.modules[name]
        shutil.rmtree(folder)
