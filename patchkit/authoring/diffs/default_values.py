"""Writes the values of changed constants into the defaults of a function's parameters."""

import ast
from collections.abc import Collection, Iterator, Mapping

from patchkit.analysis.upstream.resolving.syntax import DEFS, Def
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.authoring.source.definitions import names_in
from patchkit.authoring.source.literals import literal_value

_BLOCK = "if 1:\n"
"""A block for the parser to read an indented definition in."""


def with_literal_defaults(
    text: str, names: Collection[str], values: Mapping[str, ast.expr]
) -> str | None:
    """Return a function with the new values of names in its defaults: `limit=2` for `limit=LIMIT`.

    Args:
        text: The function, with the indentation that it has in its module.
        names: The names whose values have changed.
        values: The new values, and those of other names of the module.

    Returns:
        The text; None where a value is no literal, or where a decorator uses one of the names.
    """
    changed_names = frozenset(names)
    inner_text = _indented(text)
    block = f"{_BLOCK}{inner_text}"
    function = _function(block)
    for decorator in function.decorator_list:
        if names_in(decorator) & changed_names:
            return None

    def changes(content: bytes) -> Iterator[TextChange]:
        definition = _function(content.decode())
        for default in _defaults(definition):
            if names_in(default) & changed_names:
                start, end = span(content, default)
                value = literal_value(default, values)
                yield start, end, repr(value)

    try:
        new_block = rewritten(block.encode(), changes)
    except ValueError:  # of `literal_value`: a value is no literal
        return None
    result = new_block.decode().removeprefix(_BLOCK)
    was_indented = text[:1].isspace()
    if was_indented:
        return result
    # Without the space that `_indented` has put before each line.
    lines = [line.removeprefix(" ") for line in result.split("\n")]
    return "\n".join(lines)


def _indented(text: str) -> str:
    """Return a text in which each line is indented, by one space if it was not."""
    if text[:1].isspace():
        return text
    return "\n".join(f" {line}" for line in text.split("\n"))


def _function(text: str) -> Def:
    """Return the function in a block."""
    (block,) = ast.parse(text).body
    assert isinstance(block, ast.If)
    (function,) = block.body
    assert isinstance(function, DEFS)
    return function


def _defaults(function: Def) -> Iterator[ast.expr]:
    """Yield the defaults of a function's parameters."""
    yield from function.args.defaults
    for default in function.args.kw_defaults:
        if default is not None:
            yield default
