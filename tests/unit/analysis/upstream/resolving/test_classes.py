from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from analysis.upstream.memory import release
from patchkit.core.rows.target import Target


@st.composite
def hierarchies(draw: st.DrawFn) -> str:
    """Classes that derive from any of those before them, and define some of three members."""
    lines = []
    for at in range(draw(st.integers(4, 7))):
        before = [f"C{one}" for one in range(at)]
        least = min(len(before), draw(st.integers(1, 2)))
        some = st.sampled_from(before or [""])
        bases = draw(st.lists(some, unique=True, min_size=least, max_size=3)) if before else []
        members = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=2))
        body = "; ".join(f"{name} = {at}" for name in members) or "pass"
        lines.append(f"class C{at}({', '.join(bases)}): {body}")
    return "\n".join(lines)


@given(hierarchies())
@example("class C0(): a = 0\nclass C1(C0): pass\nclass C2(C0): a = 2\nclass C3(C1, C2): pass")
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
            found = resolver.resolve(Target("up", f"{owner}.{name}"))
            holder = next((one for one in space[owner].__mro__ if name in vars(one)), None)
            assert (found.state == "present") is (holder is not None)
            assert holder is None or found.qualname == f"{holder.__name__}.{name}"
