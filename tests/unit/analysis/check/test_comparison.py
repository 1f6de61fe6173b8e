from __future__ import annotations

from analysis.check.released import subject
from patchkit.analysis.check.comparison import compare
from patchkit.core.rows.target import Target


def test_a_changed_function_behind_a_call_is_in_the_diff() -> None:
    """The diff shows the function that a call wraps, though the line of the call is the same."""
    source = "from up.a import f\nx = cache(f)\n"
    function = "def g(): ...\n\ndef f():\n    return {}\n"
    old = subject("1.0", mod=source, a=function.format(1))
    new = subject("2.0", mod=source, a=function.format(2))
    comparison = compare(Target("up.mod", "x"), old, new)
    assert comparison.changed
    assert "-    return 1\n+    return 2\n" in comparison.diff
    assert " x = cache(f)\n" in comparison.diff
    assert "def g" not in comparison.diff
