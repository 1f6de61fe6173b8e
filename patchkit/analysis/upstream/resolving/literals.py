"""Reads lists and dicts that the source of a release spells out: `__all__`, `TABLE['key']`.

A dict is called a table here, as in targets.
"""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from numbers import Number
from typing import Any, NamedTuple

from patchkit.analysis.upstream.resolving.syntax import walk
from patchkit.analysis.upstream.resolving.values import (
    METHODS,
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)
from patchkit.core.rows.target import Item

_Entry = tuple[object, ast.expr] | str
"""A key, or an index of a list, with its value; or the code of entries that are not spelled out."""
_CHANGED = (
    rb"\b%s\s*(\[[^\]]*\]\s*=[^=]|\.(update|setdefault|pop|append|extend|insert|clear|remove)\b)"
    rb"|=\s*(?:\w+\.)*%s\s*$"
)
"""Code that changes a list or table, or assigns it to another name; for `%s` stands its name."""
_PASSED = rb"(?:\b(\w+)\(|[,=])\s*%s\s*[,)]"
"""A call that is passed a list or table, which it may change; its group is what is called."""
_TYPES: dict[type, str] = {Number: "a number", str: "a str", bytes: "bytes"}
"""Types of constants, in words. All numbers are alike, and None may stand for any type."""
_DECLARED = {"bool", "bytes", "float", "int", "str"}
"""Annotations that allow one of these types alone."""


class LiteralContainer(NamedTuple):
    """The entries of a list or table, as far as they are spelled out.

    Args:
        items: The expressions of the entries, by key; of a list, tuple or set by index.
        extended_by: Code that may add more entries, for the report; '' if there is none.
        is_table: Whether it is a dict.
    """

    items: dict[Any, ast.expr]
    extended_by: str
    is_table: bool

    def contains(self, item: Any) -> bool | None:
        """Whether a table has a key, or a list an element.

        Args:
            item: The key or the element.

        Returns:
            None if it may be among the entries that are not spelled out.
        """
        if self.is_table:
            if item in self.items:
                return True
            is_complete = True
        else:
            nodes = self.items.values()
            elements = [node.value for node in nodes if isinstance(node, ast.Constant)]
            if item in elements:
                return True
            # An element that is not spelled out may come to the item.
            is_complete = len(elements) == len(nodes)
        if self.extended_by or not is_complete:
            return None
        return False


def literal_container(value: Value) -> LiteralContainer | None:
    """Read a list or table, with what later statements add to it.

    Args:
        value: The value.

    Returns:
        None if the value was not assigned a literal, or a sum that begins with one.
    """
    literal = value.expression
    while isinstance(literal, ast.BinOp):
        literal = literal.left  # `["a"] + OTHERS` begins with a list
    if not isinstance(literal, (ast.Dict, ast.List, ast.Tuple, ast.Set)):
        return None
    items: dict[Any, ast.expr] = {}
    extended_by = ""
    # The first node is the assignment; the others are statements that change the list or table.
    for part in (value.expression, *map(_addition, value.nodes[1:])):
        assert part is not None  # the literal was found in the expression
        for entry in _entries(part, len(items)):
            if isinstance(entry, str):
                extended_by = entry
            else:
                key, node = entry
                items[key] = node
    return LiteralContainer(items, extended_by, isinstance(literal, ast.Dict))


def contains(values: Sequence[Value], item: Any) -> bool | None:
    """Whether a list or table has an item.

    Args:
        values: What the list or table may be.
        item: The key of a table, or the element of a list.

    Returns:
        None if that is not known, or depends on which of the values it is.
    """
    answers: set[bool | None] = set()
    for value in values:
        container = literal_container(value)
        if container is None:
            answers.add(None)
        else:
            answers.add(container.contains(item))
    if len(answers) != 1:
        return None
    return answers.pop()


def literal_text(values: Sequence[Value]) -> str | None:
    """Return the string that an expression is spelled out to be.

    Args:
        values: What the expression may come to.

    Returns:
        None if the values are not all the same string.
    """
    # A string constant has its text as `value`; other expressions have none, or a node.
    texts = {getattr(value.expression, "value", None) for value in values}
    if len(texts) != 1:
        return None
    text = texts.pop()
    if not isinstance(text, str):
        return None
    return text


def constant_type(values: Iterable[Value]) -> str:
    """Return the type of a constant that is spelled out.

    Args:
        values: What it may be.

    Returns:
        The type in words: "a number", "a str" or "bytes". '' for other types and other code, if an
        annotation allows more than one type, if the values are of several types, or if it depends
        on a condition in an expression.
    """
    types = set(map(_constant_type, values))
    if len(types) == 1:
        return types.pop()
    return ""


def _constant_type(value: Value) -> str:
    """Return the type of one value; see `constant_type`."""
    if value.expression is None:
        return ""
    annotations = {
        ast.unparse(node.annotation)
        for node in value.nodes
        if isinstance(node, ast.AnnAssign)
    }
    if not annotations <= _DECLARED:
        return ""
    with suppress(ValueError, TypeError):
        literal = ast.literal_eval(value.expression)
        for known, words in _TYPES.items():
            if isinstance(literal, known):
                return "" if _depends(value) else words
    return ""


def _depends(value: Value) -> bool:
    """Whether its statement has an `a if b else c`: variants of one statement count as one."""
    return any(
        isinstance(part, ast.IfExp) for node in value.nodes for part in walk(node)
    )


def _entries(node: ast.AST, start: int) -> Iterator[_Entry]:
    """List the entries that an expression adds to a list or table.

    Args:
        node: The expression; or a statement whose additions are not spelled out.
        start: The index of the first element, if it is a list.

    Yields:
        A key with its value, or the code of an entry that is not spelled out.
    """
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, value
            elif key is not None:
                yield f"the key {ast.unparse(key)}"
            else:
                yield ast.unparse(value)  # `**value`
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for index, element in enumerate(node.elts, start):
            if isinstance(element, ast.Starred):
                yield ast.unparse(element)
            else:
                yield index, element
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
        # Both sides of `[…] + […]` and `{…} | {…}` may be sums again.
        first_entries = list(_entries(node.left, start))
        yield from first_entries
        yield from _entries(node.right, start + len(first_entries))
    elif isinstance(node, ast.stmt):
        yield f"line {node.lineno}"
    else:
        yield ast.unparse(node)


def _addition(statement: ast.AST) -> ast.AST:
    """Return the expression that a statement adds: `[…]` of `X += […]`, `{k: v}` of `X[k] = v`.

    A statement that adds in another way, such as `X.update(…)`, is returned as it is.
    """
    if isinstance(statement, ast.AugAssign) and isinstance(
        statement.op, (ast.Add, ast.BitOr)
    ):
        return statement.value
    if isinstance(statement, ast.Assign) and isinstance(
        statement.targets[0], ast.Subscript
    ):
        return ast.Dict([statement.targets[0].slice], [statement.value])
    return statement


def item_of(lookup: Lookup, value: Value, item: Item, *, is_last: bool) -> Values:
    """Return what an item of a list or table is.

    Args:
        lookup: The release.
        value: The list or table.
        item: The item, by its key or index.
        is_last: Whether the target ends with the item.

    Returns:
        For the last step a value of kind `ITEM`, which stands for the item itself; otherwise the
        object that the item is, from which the target goes on.
    """
    if value.state != "present":
        return (value,)
    container = None
    if value.tree is not None:
        container = literal_container(value)
    if container is None:
        reason = f"{value.qualname} has no items that can be read from the source"
        return (undecided(reason),)
    node = container.items.get(_key_of(value, container, item))
    # Code that extends a list may insert, so that no index is certain.
    if node is None or (container.extended_by and not container.is_table):
        return (_missing(value, container, item),)
    values = lookup.evaluate(node, Scope(value.module_tree))
    if not is_last:
        return values
    signature = None
    # A method that is read from an instance is called without `self`, one from a class with it.
    is_read_from_owner = isinstance(node, ast.Attribute) and values[0].kind in METHODS
    if len(values) == 1 and not is_read_from_owner:
        signature = values[0].signature
    definition = Value(
        "present",
        Kind.ITEM,
        module=value.module,
        qualname=f"{value.qualname}{item}",
        tree=value.tree,
        nodes=(node,),
        expression=node,
        signature=signature,
    )
    if container.extended_by:
        definition = definition.unsure(f"{container.extended_by} may set it")
    return (definition,)


def _key_of(value: Value, container: LiteralContainer, item: Item) -> object:
    """Return the key of an item: of `ROWS[-1]` the index that it is counted to from the end.

    A negative index is returned as it is, and found nowhere, if code may change the list.
    """
    key = item.key
    if not isinstance(key, int) or key >= 0:
        return key
    if container.is_table or container.extended_by or _is_changed(value):
        return key
    return len(container.items) + key


def _missing(value: Value, container: LiteralContainer, item: Item) -> Value:
    """Say why a list or table has no item; undecided if code may add it."""
    if container.extended_by:
        return undecided(f"{container.extended_by} may have {item}")
    is_empty = not container.items  # so it is there to be filled
    # The nodes after the first are statements that change what the first has assigned.
    is_modified = len(value.nodes) > 1
    if is_empty or is_modified or _is_changed(value):
        return undecided(f"{value.qualname} is filled by code, which may set {item}")
    return absent(f"{value.qualname} of {value.module} has no item {item}")


def _is_changed(value: Value) -> bool:
    """Whether code of its module, such as that of a function, may change a list or table."""
    name = re.escape(value.qualname.rpartition(".")[2].encode())
    text = value.module_tree.source
    if re.search(_CHANGED % (name, name), text, re.MULTILINE):
        return True
    for passing in re.finditer(_PASSED % name, text):
        function = passing[1]
        if function is None or not hasattr(builtins, function.decode()):
            return True
    return False
