"""Writes rows as source code, in short lines that formatters leave as they are."""

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator

from patchkit.core.rows.declaration import Change, Patch, Role

WIDTH = 88
"""A longer call is split, with a comma after each argument, which formatters leave as it is."""
INDENT = "    "
_OPTIONAL_FIELDS = (
    ("required", True),
    ("after", ()),
    ("when", None),
    ("verify", None),
)
"""Fields of a row that are written only if their value is not this default."""


def row_text(patch: Patch, depth: int = 0) -> str:
    """Return the text of a row; the first line is not indented.

    Args:
        patch: The row.
        depth: The indentation of its last line, in steps.
    """
    arguments = _fields(patch, depth + 1)
    return exploded("Patch", arguments, depth)


def new_pack(module: str, *patches: Patch) -> bytes:
    """Return the content of the `__init__.py` of a pack.

    Args:
        module: The name of the pack.
        *patches: Its rows.
    """
    names: set[str] = set()
    for patch in patches:
        names |= imported_names(patch)
    imports = from_import("patchkit", names)
    row_texts = [row_text(patch, 1) for patch in patches]
    rows = exploded("PATCHES = ", row_texts)
    docstring = f'"""Patches of {module}."""'
    text = f"{docstring}\n\n{imports}\n\n{rows}\n"
    return text.encode()


def is_named(content: bytes, patch: Patch) -> bool:
    """Whether the text of a pack has `name="…"` with the name of a patch.

    It is searched as text, as the rows may be written in forms that cannot be read from the syntax.

    Args:
        content: The content of the file.
        patch: The patch.
    """
    name = re.escape(patch.name)
    argument = rf"""\bname\s*=\s*["']{name}["']"""
    pattern = argument.encode()
    match = re.search(pattern, content)
    return match is not None


def imported_names(patch: Patch) -> set[str]:
    """Return the names that the text of a row imports from patchkit.

    Args:
        patch: The row.
    """
    names = {"Patch"}
    if patch.roles is not None:
        names.add("Role")
    for change in patch.changes:
        names.add(change.kind)
    return names


def _fields(patch: Patch, depth: int) -> Iterator[str]:
    """Yield the arguments of a row, as text.

    Args:
        patch: The row.
        depth: The indentation of their lines, in steps.
    """
    yield f"name={literal(patch.name)}"
    if patch.body is not None:
        yield f"body={literal(patch.body)}"
    requirements = tuple(patch.requires)
    yield f"requires={literal(requirements)}"
    if patch.roles is not None:
        role_texts = [f"Role.{role.name}" for role in Role if role in patch.roles]
        roles = ", ".join(role_texts)
        yield f"roles={{{roles}}}"
    yield _changes(patch, depth)
    for name in ("why", "upstream", "sunset"):
        value = getattr(patch, name)
        yield f"{name}={literal(value)}"
    for name, default in _OPTIONAL_FIELDS:
        value = getattr(patch, name)
        if value != default:
            yield f"{name}={literal(value)}"


def _changes(patch: Patch, depth: int) -> str:
    """Write the argument `changes` of a row.

    A single short change stays on the line, as in `changes=(Wrap("a:f", by="g"),)`. A comma behind
    the last element makes formatters split a tuple, but not one of a single element.
    """
    inner_depth = depth + 1
    if len(patch.changes) != 1:
        texts = [change_text(change, inner_depth) for change in patch.changes]
        return exploded("changes=", texts, depth)
    (change,) = patch.changes
    # The line is `changes=(…),` at `depth`, and `change_text` counts the indentation of
    # `inner_depth`: one INDENT too many.
    room = len("changes=(,),") - len(INDENT)
    text = change_text(change, inner_depth, room)
    if "\n" in text:
        return exploded("changes=", [text], depth)
    return f"changes=({text},)"


def change_text(change: Change, depth: int, room: int = 1) -> str:
    """Return the text of a change, on one line if that is short enough.

    Args:
        change: The change.
        depth: The indentation of the line, in steps.
        room: How many further characters its line has, such as the comma behind it.
    """
    target_field, *names = _written_arguments(change)
    target = getattr(change, target_field)
    arguments = [literal(target)]
    values = {name: getattr(change, name) for name in names}
    for name, value in values.items():
        arguments.append(f"{name}={literal(value)}")
    joined = ", ".join(arguments)
    one_line = f"{change.kind}({joined})"
    margin = INDENT * depth
    width = len(margin) + len(one_line) + room
    if width <= WIDTH:
        return one_line
    # A tuple that is too long for its line, too, has a line for each element.
    inner_width = WIDTH - len(margin) - len(INDENT) - len(",")
    for index, (name, value) in enumerate(values.items(), start=1):
        if isinstance(value, tuple) and len(arguments[index]) > inner_width:
            elements = [literal(element) for element in value]
            arguments[index] = exploded(f"{name}=", elements, depth + 1)
    return exploded(change.kind, arguments, depth)


def _written_arguments(change: Change) -> list[str]:
    """Name the fields of a change whose value is not the default, the positional one first."""
    names: list[str] = []
    declared = dataclasses.fields(change)
    positional_first = sorted(declared, key=lambda field: bool(field.kw_only))
    for field in positional_first:
        value = getattr(change, field.name)
        is_required = field.default is dataclasses.MISSING
        if is_required or value != field.default:
            names.append(field.name)
    return names


def literal(value: object) -> str:
    """Return the Python source of a string, a number, a type, or a tuple of them.

    Args:
        value: The value; the elements of a tuple are written in turn.
    """
    if isinstance(value, str):
        double_quotes = value.count('"')
        single_quotes = value.count("'")
        if double_quotes > single_quotes:
            return repr(value)  # with fewer backslashes than between double quotes
        return json.dumps(value, ensure_ascii=False)  # in double quotes
    if isinstance(value, tuple):
        elements = ", ".join(map(literal, value))
        if len(value) == 1:
            return f"({elements},)"
        return f"({elements})"
    if isinstance(value, type):
        return value.__name__
    return repr(value)


def exploded(head: str, arguments: Iterable[str], depth: int = 0) -> str:
    """Return the text of a call, or a tuple, with each argument on a line of its own.

    Args:
        head: What stands before the opening bracket.
        arguments: The arguments; the first line of each is not indented.
        depth: The indentation of the closing bracket, in steps.
    """
    outer = INDENT * depth
    inner = outer + INDENT
    first_line = f"{head}("
    inner_lines = [f"{inner}{argument}," for argument in arguments]
    last_line = f"{outer})"
    return "\n".join([first_line, *inner_lines, last_line])


def from_import(module: str, names: Iterable[str]) -> str:
    """Return an import of sorted names, each on a line of its own where one line is too long.

    Args:
        module: The module.
        names: The names that are imported from it.
    """
    sorted_names = sorted(names, key=name_key)
    joined = ", ".join(sorted_names)
    head = f"from {module} import "
    line = f"{head}{joined}"
    if len(line) <= WIDTH:
        return line
    return exploded(head, sorted_names)


def name_key(name: str) -> tuple[int, str]:
    """Return the sort key of a name in an import: constants, then classes, then other names.

    Args:
        name: The name; it may be `name as alias`.
    """
    imported = name.partition(" ")[0]
    # A single upper-case letter is a class, as isort and ruff count it.
    is_constant = len(imported) > 1 and imported.isupper()
    if is_constant:
        return 0, name
    is_class = imported[:1].isupper()
    if is_class:
        return 1, name
    return 2, name
