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
    "a table": ("{'a': 1}", ":", "6", ""),
}


@pytest.mark.parametrize("form", VALUES)
def test_what_was_read_wrongly(form: str) -> None:
    """Only what is certain: a decorator or a call may give anything."""
    value, by, literal, expected = VALUES[form]
    text = f"{HEAD}lib.x = {value}\n"
    reader = PileReader(
        ModuleTree("pile", "pile.py", False, ast.parse(text), text.encode())
    )
    reader.read()
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
        step="",
        maker="",
    )
    (placement,) = reader.placements
    wrong = read_wrongly([change], {"up.lib:x": [ReadValue(reader, placement)]})
    assert wrong == ({"up.lib:x": expected} if expected else {})
