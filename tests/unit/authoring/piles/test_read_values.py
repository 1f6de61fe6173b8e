"""What was read, and what was observed: whether both are the same value."""

from __future__ import annotations

import ast

import pytest

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.piles.observed import ObservedChange
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.read_values import ReadValue, read_wrongly

HEAD = "from up import lib\n\n\ndef f(): ...\n\n\n@cached\ndef g(): ...\n\n\n"
VALUES = {
    "the same number": ("5", ":", "5", ""),
    "another number": ("5", ":", "6", "5"),
    "a function in place of a number": ("5", "pile:f", "", "5"),
    "a number in place of a function": ("f", ":", "6", "f"),
    "the same function": ("f", "pile:f", "", ""),
    "a function of the same name": ("f", "other:f", "", "f"),
    "another function": ("f", "pile:h", "", "f"),
    "a value without a name": ("f", "pile:", "", ""),
    "a decorated function": ("g", "pile:h", "", ""),
    "what a call returns": ("make(f)", "pile:h", "", ""),
    "a table": ("{'a': 1}", ":", "{'a': 1}", ""),
    "another table": ("{'a': 1}", ":", "{'a': 1, 'b': [2]}", "{'a': 1}"),
    "a table with a name in it": ("{'a': f}", ":", "6", ""),
    "what a call returns first": ("lib.made()", ":", "6", ""),
}
LINES = {
    "the same function": ("f", "pile:f", 4, ""),
    "another function of the same name": ("f", "pile:f", 9, "f"),
    "a function in no file": ("f", "pile:f", -1, "f"),
    "a class": ("f", "pile:f", 0, ""),
    "the same lambda": ("lambda: 1", "pile:<lambda>", 11, ""),
    "another lambda": ("lambda: 1", "pile:<lambda>", 12, "<lambda>"),
    "a function in place of a lambda": ("lambda: 1", "pile:f", 4, "<lambda>"),
}
LATE = {
    "of upstream": ("lib.made()", "lib.made()"),
    "of a function that reads upstream": ("derive()", "derive()"),
    "of Python": ("int('6')", ""),
    "of a function that reads nothing": ("plain()", ""),
}


@pytest.mark.parametrize("form", VALUES)
def test_what_was_read_wrongly(form: str) -> None:
    """Only what is certain: a decorator or a call may give anything."""
    value, by, literal, expected = VALUES[form]
    assert wrong(f"{HEAD}lib.x = {value}\n", by, literal) == expected


@pytest.mark.parametrize("form", LINES)
def test_a_function_is_told_by_its_line(form: str) -> None:
    """Several functions may have one name."""
    value, by, line, expected = LINES[form]
    assert wrong(f"{HEAD}lib.x = {value}\n", by, "", line) == expected


def test_the_definition_above_counts() -> None:
    """A name that is defined again below is another function."""
    text = f"{HEAD}lib.x = f\n\n\ndef f(): ...\n"
    assert wrong(text, "pile:f", "", 4) == ""
    assert wrong(text, "pile:f", "", 14) == "f"


@pytest.mark.parametrize("form", LATE)
def test_a_call_may_read_what_was_set_above(form: str) -> None:
    """A row would make the call before another row sets anything."""
    value, expected = LATE[form]
    text = "def derive():\n    return lib.y.size\n\n\ndef plain():\n    return 6\n\n\n"
    text = f"{HEAD}{text}lib.z = f\nlib.x = {value}\n"
    assert wrong(text, ":", "6") == expected


def wrong(text: str, by: str, literal: str, line: int = 0) -> str:
    """Return what reading gives for `up.lib:x`, if that is wrong."""
    reader = PileReader(
        ModuleTree("pile", "pile.py", False, ast.parse(text), text.encode())
    )
    reader.read()
    (placement,) = [
        placement
        for placement in reader.placements
        if placement.dotted_names == ["up.lib.x"]
    ]
    change = ObservedChange(
        target="up.lib:x",
        is_new=False,
        by=by,
        copies=[],
        is_inherited=False,
        is_code=not literal,
        form="attribute",
        same_as="",
        own="",
        factory="",
        is_unrelated=False,
        is_function=False,
        literal=literal,
        line=line,
        step="",
        maker="",
    )
    values = {"up.lib:x": [ReadValue(reader, placement)]}
    return read_wrongly([change], values).get("up.lib:x", "")
