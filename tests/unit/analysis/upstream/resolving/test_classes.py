"""The order in which attributes are looked up in classes, compared with Python's own."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from analysis.upstream.memory import release
from patchkit.core.rows.target import Target


@st.composite
def hierarchies(draw: st.DrawFn) -> str:
    """Classes that derive from any of those before them, and define some of three members."""
    lines: list[str] = []
    for number in range(draw(st.integers(4, 7))):
        earlier = [f"C{earlier_number}" for earlier_number in range(number)]
        least = min(len(earlier), draw(st.integers(1, 2)))
        bases: list[str] = []
        if earlier:
            base_names = st.sampled_from(earlier)
            bases = draw(st.lists(base_names, unique=True, min_size=least, max_size=3))
        members = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=2))
        body = "; ".join(f"{name} = {number}" for name in members) or "pass"
        lines.append(f"class C{number}({', '.join(bases)}): {body}")
    return "\n".join(lines)


@given(hierarchies())
@example(
    "class C0(): a = 0\nclass C1(C0): pass\nclass C2(C0): a = 2\nclass C3(C1, C2): pass"
)
def test_the_order_of_classes_is_pythons(source: str) -> None:
    """Of any hierarchy that Python accepts, each member is found in the class that Python takes."""
    space: dict[str, Any] = {}
    try:
        exec(source, space)
    except TypeError:  # no consistent order
        return
    resolver = release(source)
    for owner in [name for name in space if name.startswith("C")]:
        for name in "abc":
            resolution = resolver.resolve(Target("up", f"{owner}.{name}"))
            holders = [cls for cls in space[owner].__mro__ if name in vars(cls)]
            if holders:
                assert resolution.state == "present"
                assert resolution.qualname == f"{holders[0].__name__}.{name}"
            else:
                assert resolution.state != "present"
