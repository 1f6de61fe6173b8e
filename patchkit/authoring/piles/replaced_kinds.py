"""Compares what a pile sets with what the release has there: its kind, and how it is called.

`Replace` makes of a plain function what the release has: a static method, a property. A pile does
not, so where that makes a difference, no row does what the pile does.
"""

import ast

from patchkit.analysis.check.compatibility import refused_call
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.code_kinds import returned_by
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    Def,
    Signature,
    dotted,
    signature_of,
)
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import Placement
from patchkit.authoring.source.decorators import makes_descriptor
from patchkit.core.record import grouped

FUNCTIONS = {str(Kind.FUNCTION), str(Kind.ASYNC_FUNCTION)}
METHODS = {str(Kind.METHOD), str(Kind.ASYNC_METHOD)}
KINDS_OF_METHODS = {
    str(Kind.STATICMETHOD),
    str(Kind.CLASSMETHOD),
    str(Kind.PROPERTY),
    str(Kind.CACHED_PROPERTY),
}


def kind_fault(reader: PileReader, placement: Placement, facts: Facts) -> str:
    """Return why no row puts a plain method in the place of what is none; '' where one can.

    A static method counts if its replacement is given an instance.

    Args:
        reader: The reader of the module that sets the replacement.
        placement: The placement of the replacement.
        facts: The facts of the original.
    """
    function = _plain_function(reader, placement)
    if function is None:
        return ""
    parameters = [*function.args.posonlyargs, *function.args.args]
    is_given_instance = bool(parameters) and parameters[0].arg == "self"
    is_static = facts.kind == str(Kind.STATICMETHOD)
    is_same_for_callers = is_static and not is_given_instance
    if facts.kind not in KINDS_OF_METHODS or is_same_for_callers:
        return ""
    return f"it is a plain method, and a row would make a {facts.kind} of it"


def is_unrelated(reader: PileReader, placement: Placement, facts: Facts) -> bool:
    """Return whether callers of an original may fail with its replacement, or get another kind.

    The row then needs `unrelated=True`.

    Args:
        reader: The reader of the module that sets the replacement.
        placement: The placement of the replacement.
        facts: The facts of the original.
    """
    # What is not present for certain may be a class, too.
    if not facts.is_present or facts.kind == str(Kind.CLASS):
        return not _derives(reader, placement)
    if facts.kind == str(Kind.CACHED_FUNCTION):
        return True  # else a row would cache what the pile does not
    is_static = facts.kind == str(Kind.STATICMETHOD)
    is_plain = facts.kind in FUNCTIONS | METHODS
    if facts.signature is None or not (is_plain or is_static):
        return False
    functions = _functions(reader, placement)
    if len(functions) != 1:
        return is_plain
    (function,) = functions
    if _returns_another_kind(function, facts):
        return True
    signature: Signature = signature_of(function.args)
    return refused_call(facts.signature, signature) is not None


def _returns_another_kind(function: Def, facts: Facts) -> bool:
    """Return whether calls of only one of two functions give a coroutine, a generator or the like.

    Of a decorated function that is not known.
    """
    if function.decorator_list or not facts.returned:
        return False
    returned = returned_by(function)
    return bool(returned) and returned != facts.returned


def _functions(reader: PileReader, placement: Placement) -> list[Def]:
    """Return the functions of the module that have the name of what a placement sets."""
    tree = reader.module.tree
    by_name = reader.module.remember_with_file(
        "functions by name",
        lambda: grouped(
            (node.name, node) for node in ast.walk(tree) if isinstance(node, DEFS)
        ),
    )
    return by_name.get(dotted(placement.value), [])


def _plain_function(
    reader: PileReader, placement: Placement
) -> Def | ast.Lambda | None:
    """Return the function that a placement sets, if it is one and no descriptor; else None."""
    if isinstance(placement.value, ast.Lambda):
        return placement.value
    functions = _functions(reader, placement)
    if len(functions) != 1 or makes_descriptor(functions[0].decorator_list):
        return None
    return functions[0]


def _derives(reader: PileReader, placement: Placement) -> bool:
    """Return whether a placement sets a class that derives from the class that it replaces."""
    name = dotted(placement.value)
    for node in reader.module.tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for base in node.bases:
                base_names = reader.scope.dotted_names_of(base)
                if not set(placement.dotted_names).isdisjoint(base_names):
                    return True
    return False
