"""Imports of a body that follow what upstream moved."""

import ast
from collections.abc import Iterator, Mapping

from patchkit.rows.target import Target
from patchkit.scaffold.rows import TextChange, rewritten, span
from patchkit.upstream.reading.files import parse


def with_moved(text: str, moved: Mapping[Target, Target]) -> str:
    """Rewrite `from … import …` of names that are elsewhere now; the names stay as they are."""

    def edits(content: bytes) -> Iterator[TextChange]:
        for node in ast.walk(parse(content)[0]):
            if isinstance(node, ast.ImportFrom) and (lines := _statements(node, moved)):
                start, end = span(content, node)
                before = content[content.rfind(b"\n", 0, start) + 1 : start].decode()
                yield start, end, ("; " if before.strip() else f"\n{before}").join(lines)

    return rewritten(text.encode(), edits).decode()


def _statements(node: ast.ImportFrom, moved: Mapping[Target, Target]) -> list[str]:
    """Write an import as several, one for each name that has moved; as none where none has."""
    new = [ast.ImportFrom(node.module, list[ast.alias](), 0)]
    for alias in node.names if node.module and not node.level else ():
        whole = Target(f"{node.module}.{alias.name}")
        place = moved.get(Target(node.module or "", alias.name)) or moved.get(whole)
        if place is None:
            new[0].names.append(alias)
            continue
        module, _, name = str(place).replace(":", ".").rpartition(".")
        bound = alias.asname or alias.name
        new.append(ast.ImportFrom(module, [ast.alias(name, bound if bound != name else None)], 0))
    return [ast.unparse(one) for one in new if one.names] if len(new) > 1 else []
