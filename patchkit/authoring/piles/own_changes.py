"""Writes changes to objects of a pile's own, and what a body needs for them.

A pile is a package that patches upstream. Its outermost module can have no stand-in: bodies import
from it where it is.
"""

import ast
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import SCOPES
from patchkit.authoring.piles.closure_factories import ClosureFactory
from patchkit.authoring.piles.guards import bound
from patchkit.authoring.piles.keeping_off import PileFunction
from patchkit.authoring.piles.observed import ObservedChange
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.core.rows.declaration import Add, Change, Decorate, Replace

_OF_PILE = '''

def of_pile(function):
    """Give a function the names of {module}, as they are there at each call."""
    names = vars(import_module("{module}"))
    return FunctionType(function.__code__, names, function.__name__)
'''
_LINES_OF_PILE = (
    "from importlib import import_module",
    "from types import FunctionType",
)
"""The imports that it needs."""


class OwnChange(NamedTuple):
    """A change to an object of the pile, or by a function of it that is given the original.

    Args:
        change: The change.
        lines: The statements that bind the object in a body.
        definitions: What comes below these statements in the body, of all such changes once each.
    """

    change: Change
    lines: Sequence[str]
    definitions: Sequence[str] = ()


def with_value(change: ObservedChange, name: str, lines: Sequence[str]) -> OwnChange:
    """Return a change of a target to what a body has under a name.

    Args:
        change: What was observed.
        name: The name.
        lines: The statements that bind it.
    """
    if change.is_new and not change.is_inherited:
        return OwnChange(Add(change.target, by=name, rebind=False), lines)
    replaced = Replace(
        change.target, by=name, rebind=False, unrelated=change.is_unrelated
    )
    return OwnChange(replaced, lines)


def made_in_body(
    change: ObservedChange,
    factory: ClosureFactory,
    name: str,
    function: PileFunction,
    waiting_line: str,
) -> OwnChange:
    """Return the change that calls a factory in the body itself, with the names of the pile.

    Args:
        change: What was observed.
        factory: The factory.
        name: Its name in the body.
        function: The function that it is made of; its module stays the pile's.
        waiting_line: The statement with which the body waits for that module.
    """
    lines = [*_LINES_OF_PILE, waiting_line]
    text = factory.text(name, str(function), change.target)
    of_pile = _OF_PILE.format(module=function.module)
    definition = text.lstrip("\n")
    definitions = [of_pile, f"\n\n@of_pile\n{definition}"]
    if change.is_new:
        word = name.removeprefix("make_")
        definitions.append(f"\n\n{word} = {name}(None)\n")
        own_change = with_value(change, word, lines)
        return own_change._replace(definitions=definitions)
    row_change = Decorate(change.target, by=name, rebind=False)
    return OwnChange(row_change, lines, definitions)


def waiting_line(reader: PileReader) -> str:
    """Return the statement with which a body waits until a module of the pile is whole.

    Such a module imports upstream itself, which makes the row due. An import of the name that it
    binds last fails until then, and patchkit loads the body again at the end of that import.

    Args:
        reader: The reader of the module.
    """
    counts = Counter[str]()
    for statement in reader.module.tree.body:
        counts.update(bound(statement))
    last_name = ""
    for statement in reader.module.tree.body:
        if isinstance(statement, (*SCOPES, ast.Assign, ast.Import, ast.ImportFrom)):
            for name in sorted(bound(statement)):
                if counts[name] == 1:
                    last_name = name
    return f"from {reader.module.name} import {last_name} as _last_name"
