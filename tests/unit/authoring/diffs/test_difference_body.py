"""What of a class cannot stand in a body, as its names would mean something else there."""

from __future__ import annotations

import pytest

from patchkit.authoring.diffs.difference import difference

CLASS = """\
SIZE = 5


class C:
    SIZE = 1

    def twice(function):
        return function

    @property
    def p(self):
        return 1
"""
OF_CLASS = {
    "a default": ("    def new(self, a=SIZE):\n        return a\n", "SIZE"),
    "a default by keyword": (
        "    def new(self, *, a=SIZE):\n        return a\n",
        "SIZE",
    ),
    "a decorator": ("    @twice\n    def new(self):\n        return 1\n", "twice"),
    "a value": ("    NEW = SIZE + 1\n", "SIZE"),
}
NOT_OF_CLASS = {
    "a name that is read at a call": "    def new(self):\n        return SIZE\n",
    "an annotation": "    def new(self, a: SIZE = 1):\n        return a\n",
    "a builtin": "    @property\n    def new(self):\n        return 1\n",
}


@pytest.mark.parametrize("form", OF_CLASS)
def test_what_uses_names_of_its_class_as_it_is_made_is_listed(form: str) -> None:
    """The body has no class around it: the module's name of that spelling would be taken."""
    text, name = OF_CLASS[form]
    made = difference("up/lib.py", CLASS.encode(), f"{CLASS}\n{text}".encode())
    assert made.changes == []
    assert [code.reason for code in made.left] == [
        f"it uses {name}, which is a name of its class"
    ]


@pytest.mark.parametrize("form", NOT_OF_CLASS)
def test_what_uses_none_becomes_a_change(form: str) -> None:
    """Names that functions read later are the module's in the class, too."""
    text = NOT_OF_CLASS[form]
    made = difference("up/lib.py", CLASS.encode(), f"{CLASS}\n{text}".encode())
    assert made.left == []
    assert [str(change.place) for change in made.changes] == ["up.lib:C.new"]
