"""Imports of a body that follow what upstream moved."""

import ast
from collections.abc import Mapping

from patchkit.rows.target import Target
from patchkit.scaffold.row_edits import span
from patchkit.upstream.reading.files import parse


def with_moved(text: str, moved: Mapping[Target, Target]) -> str:
    """Rewrite `from … import …` of names that are elsewhere now; the names stay as they are."""
    content = text.encode()
    found = [one for one in ast.walk(parse(content)[0]) if isinstance(one, ast.ImportFrom)]
    for node in sorted(found, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        new = [_written(node, alias, moved) for alias in node.names]
        if node.module and not node.level and any(new):
            stay = [alias for alias, one in zip(node.names, new, strict=True) if not one]
            kept = [ast.unparse(ast.ImportFrom(node.module, stay, 0))] if stay else []
            start, end = span(content, node)
            before = content[content.rfind(b"\n", 0, start) + 1 : start].decode()
            between = "; " if before.strip() else f"\n{before}"
            lines = between.join([*kept, *filter(None, new)]).encode()
            content = content[:start] + lines + content[end:]
    return content.decode()


def _written(node: ast.ImportFrom, alias: ast.alias, moved: Mapping[Target, Target]) -> str:
    module, name = node.module or "", alias.name
    place = moved.get(Target(module, name)) or moved.get(Target(f"{module}.{name}"))
    if place is None:
        return ""
    module, _, name = str(place).replace(":", ".").rpartition(".")
    bound = alias.asname or alias.name
    return f"from {module} import {name}" + (f" as {bound}" if bound != name else "")
