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


def test_what_neither_release_has_may_be_misspelled() -> None:
    """Similar names are told as `check` tells them; of what one of the releases has, none are."""
    old = subject("1.0", mod="def load(): ...\ndef other(): ...\n")
    new = subject("1.1", mod="def load(): ...\n")
    slip = compare(Target("up.mod", "lod"), old, new)
    assert slip.hint == "; did you mean up.mod:load?"
    assert compare(Target("up.mod", "other"), old, new).hint == ""


def test_what_nobody_can_decide_may_be_misspelled() -> None:
    """A class that a decorator may add to: only a nearly equal name is told, and why it is open."""
    source = "from lib import config\n@config\nclass C:\n    def get_size(self): ...\n"
    old = subject("1.0", mod=source)
    new = subject("1.1", mod=source)
    slip = compare(Target("up.mod", "C.get_sizee"), old, new)
    assert slip.new.facts.state == "undecidable"
    assert slip.hint == "; did you mean up.mod:C.get_size?"
    assert compare(Target("up.mod", "C.get"), old, new).hint == ""
