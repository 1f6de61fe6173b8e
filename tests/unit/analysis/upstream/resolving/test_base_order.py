"""The order of bases that have type parameters, compared with Python's own."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis.upstream.memory import release
from patchkit.core.rows.target import Target

HEAD = """
from collections.abc import Sized
from typing import Generic, Iterable, List, Protocol, TypeVar
T = TypeVar("T")
"""
OUTSIDE = ("Generic[T]", "Iterable[T]", "List[T]", "Sized", "Protocol", "Protocol[T]")


@st.composite
def hierarchies(draw: st.DrawFn) -> str:
    """Classes that derive from others and from those of typing, and define some of two members."""
    lines: list[str] = []
    for number in range(draw(st.integers(2, 5))):
        earlier = [f"C{earlier_number}" for earlier_number in range(number)]
        subscripted = [f"{name}[T]" for name in earlier]
        base_names = st.sampled_from([*earlier, *subscripted, *OUTSIDE])
        bases = draw(st.lists(base_names, unique=True, max_size=3))
        members = draw(st.lists(st.sampled_from("ab"), unique=True, max_size=2))
        body = "; ".join(f"{name} = {number}" for name in members) or "pass"
        lines.append(f"class C{number}({', '.join(bases)}): {body}")
    return "\n".join(lines)


@given(hierarchies())
@example("class C0(Generic[T]): a = 0\nclass C1(Generic[T], C0[T]): pass")
@example("class C0(Protocol): a = 0\nclass C1(Generic[T], Protocol): a = 1")
@example("class C0(Iterable[T]): a = 0\nclass C1(Generic[T], Iterable[T]): pass")
@settings(max_examples=300)
def test_the_order_of_generic_bases_is_pythons(source: str) -> None:
    """Of any hierarchy that Python accepts, each member is found in the class that Python takes."""
    space: dict[str, Any] = {}
    try:
        exec(HEAD + source, space)
    except TypeError:  # no consistent order, or a subscript of what is not generic
        return
    resolver = release(HEAD + source)
    for owner in [name for name in space if name[1:].isdigit()]:
        for name in "ab":
            resolution = resolver.resolve(Target("up", f"{owner}.{name}"))
            holders = [cls for cls in space[owner].__mro__ if name in vars(cls)]
            if holders:
                assert resolution.state == "present"
                assert resolution.qualname == f"{holders[0].__name__}.{name}"
            else:
                assert resolution.state == "absent"
