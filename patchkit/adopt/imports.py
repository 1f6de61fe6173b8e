"""Imports of a body that follow what upstream moved."""

import ast
from collections.abc import Mapping

from patchkit.rows.target import Target


def with_moved(text: str, moved: Mapping[Target, Target]) -> str:
    """Rewrite `from … import …` of names that are elsewhere now; the names stay as they are."""
    lines = text.split("\n")
    found = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ImportFrom)]
    for node in sorted(found, key=lambda one: -one.lineno):
        new = [_written(node, alias, moved) for alias in node.names]
        if node.module and not node.level and any(new):
            stay = [alias for alias, one in zip(node.names, new, strict=True) if not one]
            kept = [ast.unparse(ast.ImportFrom(node.module, stay, 0))] if stay else []
            margin = " " * node.col_offset
            lines[node.lineno - 1 : node.end_lineno] = [
                f"{margin}{one}" for one in (*kept, *filter(None, new))
            ]
    return "\n".join(lines)


def _written(node: ast.ImportFrom, alias: ast.alias, moved: Mapping[Target, Target]) -> str:
    as_attribute, as_module = (
        Target(node.module or "", alias.name),
        Target(f"{node.module}.{alias.name}"),
    )
    place = moved.get(as_attribute) or moved.get(as_module)
    if place is None:
        return ""
    whole = str(place).replace(":", ".")
    module, _, name = whole.rpartition(".")
    bound = alias.asname or alias.name
    return f"from {module} import {name}" + (f" as {bound}" if bound != name else "")
