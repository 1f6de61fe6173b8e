"""Finds names that have moved to another module, and rewrites their `from … import …`."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.using import Misfit
from patchkit.analysis.upstream.reading.files import parse
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.core.rows.target import Target


def moved_uses(
    misfits: Iterable[Misfit], old: CheckedRelease, new: CheckedRelease
) -> dict[Target, Target]:
    """Find where names that a body uses are in a later release that lacks them.

    A guarded use of what the old release lacks, too, is left out: its code is for other releases.
    To point it to something of that name would set that code to work.

    Args:
        misfits: what the body uses and the later release lacks, or has otherwise.
        old: the release that the row holds for.
        new: the later release.

    Returns:
        By each name, the new one; a name that the later release has nowhere is left out.
    """
    missing: list[Target] = []
    for misfit in misfits:
        target = misfit.target
        if new.has(target):
            continue
        is_guarded = all(use.guarded for use in misfit.uses)
        if is_guarded and not old.has(target):
            continue
        missing.append(target)
    moves = new.moves([(target, old) for target in missing])
    moved: dict[Target, Target] = {}
    for target, move in zip(missing, moves, strict=True):
        if move.place:
            moved[target] = move.place
    return moved


def with_moved(text: str, moved: Mapping[Target, Target]) -> str:
    """Return the text of a module that imports moved names from where they are now.

    Each name stays bound as before: `from a import f` becomes `from b import g as f`.

    Args:
        text: the text of the module.
        moved: the new target of each moved name, by its old target.
    """

    def changes(content: bytes) -> Iterator[TextChange]:
        """Yield the new text of each import of a moved name, with its start and end."""
        # Of a text with a syntax error, the tree is empty, and the text stays as it is.
        tree, _syntax_error = parse(content)
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            statements = _statements(node, moved)
            if not statements:
                continue
            start, end = span(content, node)
            start_of_line = content.rfind(b"\n", 0, start) + 1
            text_before = content[start_of_line:start].decode()
            separator = (
                f"\n{text_before}"  # the import begins its line: that is its indent
            )
            if text_before.strip():  # other code is before the import on its line
                separator = "; "
            text_of_imports = separator.join(statements)
            yield start, end, text_of_imports

    return rewritten(text.encode(), changes).decode()


def _statements(node: ast.ImportFrom, moved: Mapping[Target, Target]) -> list[str]:
    """Split an import into one of the names that stayed, and one for each name that moved.

    Args:
        node: the import.
        moved: the new target of each moved name, by its old target.

    Returns:
        The statements; none where no name has moved, or the import is relative.
    """
    if not node.module or node.level:
        return []
    stayed: list[ast.alias] = []
    imports: list[ast.ImportFrom] = []
    for alias in node.names:
        submodule = Target(f"{node.module}.{alias.name}")
        member = Target(node.module, alias.name)
        # `from a import b` is of a name in `a`, or of the module `a.b`.
        target = moved.get(member) or moved.get(submodule)
        if target is None:
            stayed.append(alias)
            continue
        dotted_target = str(target).replace(":", ".")
        module, _, name = dotted_target.rpartition(".")
        bound = alias.asname or alias.name
        new_alias = ast.alias(name)
        if bound != name:
            new_alias = ast.alias(name, bound)
        imports.append(ast.ImportFrom(module, [new_alias], level=0))
    if not imports:
        return []
    if stayed:
        remainder = ast.ImportFrom(node.module, stayed, level=0)
        imports.insert(0, remainder)
    return [ast.unparse(statement) for statement in imports]
