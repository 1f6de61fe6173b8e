"""Whether our side of a conflict has what upstream changed, so that a person has resolved it."""

from __future__ import annotations

import pytest

from patchkit.authoring.rebase.resolved import has_changes


@pytest.mark.parametrize(
    ("ours", "base", "theirs"),
    [
        ("x = tuple(sorted(a))", "x = list(a)", "x = sorted(a)"),
        ("x = abs(helper(b))", "x = b + 2", "x = helper(b)"),
        ("x = f(a, timeout=3, more=1)", "x = f(a)", "x = f(a, timeout=3)"),
        ("x = abs(f(a))", "x = f(a, old=1)", "x = f(a)"),
        ("x = sorted(\n    a\n)  or []", "x = list(a)", "x = sorted(a)"),
        ("own = 1\nreturn f(a)", "b = g(0)\nreturn f(a)", "return f(a)"),
        ("x = f(a, own=7)", "x = f(a, old=1, new=2)", "x = f(a)"),
        ("", "x = 1", ""),
    ],
)
def test_ours_has_what_they_changed(ours: str, base: str, theirs: str) -> None:
    """Layout and what we have changed beside it do not count."""
    assert has_changes(ours, base, theirs)


@pytest.mark.parametrize(
    ("ours", "base", "theirs"),
    [
        ("x = tuple(a)", "x = list(a)", "x = sorted(a)"),
        ("x = list(sorted(a))", "x = list(a)", "x = sorted(a)"),
        ("x = f(a, sorted)", "x = f(a)", "x = sorted(f(a))"),
        ("x = g(1, 2)", "x = f(1)", "x = f(2)"),
        ("x = f(a, old=2)", "x = f(a, old=1)", "x = f(a)"),
        ("def f():\n    run(33)", "def f():\n    run(3)", ""),
        ("x = f(b)", "x = f(a)", "x = f( a )"),
        ("x = f(a) or b", "x = f(a)", "x = f(a)[0]"),
        ("", "x = f(a, old=1)", "x = f(a)"),
        ("", "b = g(0)\nx = f(a)", "x = f(a)"),
        ("y = 1", "x = f(a, old=1)", "x = f(a)"),
    ],
)
def test_ours_lacks_what_they_changed(ours: str, base: str, theirs: str) -> None:
    """As we have left the line as it was, or have changed it otherwise."""
    assert not has_changes(ours, base, theirs)
