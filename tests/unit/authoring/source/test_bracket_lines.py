"""Lines that an Edit brings into brackets stand in the file as the lines around them do."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.source.body_code import BodyCode
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.module_text import ModuleText
from patchkit.authoring.source.transplant import make
from patchkit.core.rows.declaration import Edit

TEXT = '''\
class Engine:
    def run(self):
        return dict(
            alpha=1,
            beta=2,
        )

    def step(self, first=dict(a=1,
                              b=2)):
        text = call(first, """
            gamma,
        """)
        return text
'''
NOTHING = BodyCode(Definitions.of("pack/patch_lib.py", b""))


def edited(old: str, new: str, name: str = "Engine.run") -> str:
    """Return the text of the module with an Edit made in it."""
    module = ModuleText("up/lib.py", TEXT)
    make(module, Edit(f"up.lib:{name}", old=old, new=new), name, NOTHING)
    ast.parse(module.text)
    return module.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("alpha=1,", "alpha=1,\n            gamma=3,"),
        ("alpha=1,", "alpha=1,\ngamma=3,"),
        (
            "return dict(\n            alpha=1,",
            "return dict(\n            alpha=1,\n            gamma=3,",
        ),
        ("return dict(\n    alpha=1,", "return dict(\n    alpha=1,\n    gamma=3,"),
        (
            "        return dict(\n            alpha=1,",
            "        return dict(\n            alpha=1,\n            gamma=3,",
        ),
        (
            "return dict(\n            alpha=1,\n            beta=2,\n        )",
            "return dict(\n            alpha=1,\n            gamma=3,\n            beta=2,\n"
            "        )",
        ),
    ],
    ids=["copied", "level", "statement", "relative", "with-margin", "whole"],
)
def test_lines_are_indented_as_their_neighbours(old: str, new: str) -> None:
    """Whether they were copied from the file, or are relative to the first line of `new`."""
    expected = TEXT.replace("alpha=1,\n", "alpha=1,\n            gamma=3,\n")
    assert edited(old, new) == expected


def test_nested_brackets_are_indented_each_in_its_own() -> None:
    """Each line of a nested call that was copied stands where it stood."""
    new = (
        "alpha=1,\n            gamma=dict(\n                delta=[\n"
        "                    3,  # three\n                ],\n            ),"
    )
    expected = TEXT.replace("alpha=1,", new)
    assert edited("alpha=1,", new) == expected


def test_lines_relative_to_the_first_stay_relative() -> None:
    """A line of `new` that is four blanks further is four blanks further in the file."""
    text = edited("alpha=1,", "alpha=(\n    1\n),")
    assert "            alpha=(\n                1\n            ),\n" in text


def test_lines_that_were_there_stay() -> None:
    """An Edit of one line leaves others as their author has aligned them, and strings too."""
    text = edited("text = call(first", "text = call(first + 1", "Engine.step")
    assert text == TEXT.replace("call(first,", "call(first + 1,")
