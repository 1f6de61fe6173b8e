from __future__ import annotations

from analysis.check.released import subject
from patchkit.analysis.check.comparison import compare
from patchkit.core.rows.target import Target


def test_what_a_call_wraps_is_shown_where_it_changed() -> None:
    """The line that names it is the same; the function behind it is in the diff."""
    source = "from up.a import f\nx = cache(f)\n"
    old, new = (
        subject(
            f"{one}.0", mod=source, a=f"def g(): ...\n\ndef f():\n    return {one}\n"
        )
        for one in (1, 2)
    )
    found = compare(Target("up.mod", "x"), old, new)
    assert found.changed
    assert "-    return 1\n+    return 2\n" in found.diff
    assert " x = cache(f)\n" in found.diff
    assert "def g" not in found.diff
