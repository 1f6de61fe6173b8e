"""Writes rows as an author does: on lines that are short, and stable under every formatter."""

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator

from patchkit.core.rows.declaration import Change, Patch, Role

WIDTH = 88
"""A line that is longer is split, with a comma at its end: stable under every formatter."""
INDENT = "    "
_OPTIONAL_FIELDS = (
    ("required", True),
    ("after", ()),
    ("when", None),
    ("verify", None),
)
"""Fields of a row that are written only if their value is not this default."""


def row_text(patch: Patch, depth: int = 0) -> str:
    """Return the text of a row; its first line is not indented.

    Args:
        patch: The row.
        depth: How far its last line is indented, in steps.
    """
    arguments = _fields(patch, depth + 1)
    return exploded("Patch", arguments, depth)


def new_pack(module: str, *patches: Patch) -> bytes:
    """Return the `__init__.py` of a pack.

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
    """Whether a file has a row of a patch's name.

    Args:
        content: What the file has in it.
        patch: The patch.
    """
    name = re.escape(patch.name)
    argument = rf"""\bname\s*=\s*["']{name}["']"""
    pattern = argument.encode()
    match = re.search(pattern, content)
    return match is not None


def imported_names(patch: Patch) -> set[str]:
    """Return what the text of a row needs from patchkit.

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
    """Write the arguments of a row, each at a depth."""
    name_text = literal(patch.name)
    yield f"name={name_text}"
    if patch.body is not None:
        body_text = literal(patch.body)
        yield f"body={body_text}"
    requirements = tuple(patch.requires)
    requirements_text = literal(requirements)
    yield f"requires={requirements_text}"
    if patch.roles is not None:
        role_texts = [f"Role.{role.name}" for role in Role if role in patch.roles]
        roles = ", ".join(role_texts)
        yield f"roles={{{roles}}}"
    yield _changes(patch, depth)
    for name in ("why", "upstream", "sunset"):
        value = getattr(patch, name)
        text = literal(value)
        yield f"{name}={text}"
    for name, default in _OPTIONAL_FIELDS:
        value = getattr(patch, name)
        if value == default:
            continue
        text = literal(value)
        yield f"{name}={text}"


def _changes(patch: Patch, depth: int) -> str:
    """Write the changes of a row.

    A short change that is alone stays on the line: there, formatters do not mind the comma.
    """
    inner_depth = depth + 1
    if len(patch.changes) != 1:
        texts = [change_text(change, inner_depth) for change in patch.changes]
        return exploded("changes=", texts, depth)
    (alone,) = patch.changes
    brackets = "changes=(,),"
    width = len(brackets)
    room = width - len(INDENT)
    text = change_text(alone, inner_depth, room)
    if "\n" in text:
        return exploded("changes=", [text], depth)
    return f"changes=({text},)"


def change_text(change: Change, depth: int, room: int = 1) -> str:
    """Return the text of a change, on one line if that is short enough.

    Args:
        change: The change.
        depth: How far the line is indented, in steps.
        room: How many characters there are beside the change on its line.
    """
    target_field, *names = _written_arguments(change)
    target = getattr(change, target_field)
    arguments = [literal(target)]
    for name in names:
        value = getattr(change, name)
        text = literal(value)
        argument = f"{name}={text}"
        arguments.append(argument)
    joined = ", ".join(arguments)
    plain = f"{change.kind}({joined})"
    margin = INDENT * depth
    width = len(margin) + len(plain) + room
    if width <= WIDTH:
        return plain
    return exploded(change.kind, arguments, depth)


def _written_arguments(change: Change) -> list[str]:
    """Name the fields of a change that are no defaults, the positional one first."""
    names: list[str] = []
    declared = dataclasses.fields(change)
    positional_first = sorted(declared, key=lambda field: bool(field.kw_only))
    for field in positional_first:
        value = getattr(change, field.name)
        is_needed = field.default is dataclasses.MISSING
        is_other = value != field.default
        if is_needed or is_other:
            names.append(field.name)
    return names


def literal(value: object) -> str:
    """Return a string, a number, a type, or a tuple of them, as Python has it.

    Args:
        value: The value.
    """
    if isinstance(value, str):
        if value.count('"') > value.count("'"):
            return repr(value)  # which has fewer backslashes
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        texts = map(literal, value)
        elements = ", ".join(texts)
        is_alone = len(value) == 1
        if is_alone:
            return f"({elements},)"
        return f"({elements})"
    if isinstance(value, type):
        return value.__name__
    return repr(value)


def exploded(head: str, arguments: Iterable[str], depth: int = 0) -> str:
    """Return a call with an argument a line.

    Args:
        head: What stands before the opening bracket.
        arguments: The arguments; the first line of each is not indented.
        depth: How far the closing bracket is indented, in steps.
    """
    outer = INDENT * depth
    inner = outer + INDENT
    first_line = f"{head}("
    lines = [first_line]
    for argument in arguments:
        line = f"{inner}{argument},"
        lines.append(line)
    last_line = f"{outer})"
    lines.append(last_line)
    return "\n".join(lines)


def from_import(module: str, names: Iterable[str]) -> str:
    """Return an import of sorted names, with a name a line where one line is too long.

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
    """Return what names of an import are sorted by: constants, then classes, then the others.

    Args:
        name: The name; it may be `name as alias`.
    """
    imported = name.partition(" ")[0]
    is_constant = len(imported) > 1 and imported.isupper()
    if is_constant:
        return 0, name
    if imported[:1].isupper():
        return 1, name
    return 2, name
