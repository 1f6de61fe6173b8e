"""Code that is indented further or less."""

from __future__ import annotations

import pytest

from patchkit.authoring.source.indents import dedented, indented

FUNCTION = '''\
def f(a):
    """Words.

    More.
    """
    text = """
  not
    code
""" + (
        f"""{a}
 nor this"""
    )

    return text
'''


def test_strings_stay_as_they_are() -> None:
    """What a string has in it stays, a docstring goes with the code, empty lines get no blanks."""
    further = indented(FUNCTION, "    ")
    namespace: dict[str, object] = {}
    code = f"class K:\n{further}"
    exec(code.replace("def f(a)", "def f(self, a=1)"), namespace)
    exec(FUNCTION, namespace)
    assert namespace["K"]().f() == namespace["f"](1)  # type: ignore[operator]
    assert "\n        More.\n" in further
    assert "    \n" not in further
    assert dedented(further) == FUNCTION


@pytest.mark.parametrize("text", ["    a = 1\n", "\ta = 1\n"])
def test_blanks_and_tabs_are_taken_off(text: str) -> None:
    """The margin is what the first line begins with."""
    assert dedented(text) == "a = 1\n"
