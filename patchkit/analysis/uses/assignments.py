"""Tells which names of upstream exist because files assign them, whatever the release has."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.uses.use import Use
from patchkit.core.rows.target import Target

MODULE_SCOPE = 0
"""The scope of what runs as a file is imported, outside of any function."""


class Assignment(NamedTuple):
    """An assignment of a file to a name of upstream, such as `up.a.f = mine`.

    Args:
        name: The name with dots only, `up.a.f`; a module that is put into `sys.modules` with a
            colon, `up.a:`.
        line: The last line of the statement.
        scope: The number of the function that it runs in; MODULE_SCOPE outside of functions.
    """

    name: str
    line: int
    scope: int


def provided_by(
    assignments: Iterable[Assignment], uses: Iterable[tuple[Use, int]]
) -> set[str]:
    """Return the names that the assignments of one file provide.

    A file that reads a name before it assigns it, as in `old = up.f` and later `up.f = mine`, needs
    it from upstream: its assignment provides nothing.

    Args:
        assignments: What the file assigns.
        uses: What the file uses, each with the number of the function that it runs in.
    """
    # By name, the uses that need it. A guarded one does not, nor one that replaces the name.
    readers: dict[str, list[tuple[Use, int]]] = {}
    for use, scope in uses:
        if not use.guarded and not use.is_replacement:
            readers.setdefault(dotted_path(use.target), []).append((use, scope))
    provided = set()
    needed = set()
    for assignment in assignments:
        provided.add(assignment.name)
        for use, scope in readers.get(assignment.name, ()):
            if _runs_before(use, scope, assignment):
                needed.add(assignment.name)
    return provided - needed


def _runs_before(use: Use, scope: int, assignment: Assignment) -> bool:
    """Whether a use runs before an assignment of the same file: above it, or as it is imported."""
    if scope == assignment.scope:
        return use.line <= assignment.line
    return scope == MODULE_SCOPE


def with_assigned(uses: Sequence[Use], provided: set[str]) -> Iterator[Use]:
    """Yield uses, marked as guarded where an assignment provides the target.

    What a package puts in the place of a target stays as it is: it does not read the target.

    Args:
        uses: What a package uses.
        provided: The names that the assignments of all its files provide.
    """
    for use in uses:
        if use.is_replacement or provided.isdisjoint(_providers(use.target)):
            yield use
        else:
            yield use.as_guarded()


def _providers(target: Target) -> Iterator[str]:
    """Yield the names of which an assignment provides a target, as `Assignment.name` has them.

    For `up.a:C.f` these are the modules `up.a:` and `up.a.C.f:`, and the attributes `up.a.C.f` and
    `up.a.C`.
    """
    path = dotted_path(target)
    yield f"{target.module}:"
    yield f"{path}:"  # `from up.a import x` makes the target `up.a:x`, also if x is a module
    while path != target.module:
        yield path
        path = path.rpartition(".")[0]


def dotted_path(target: Target) -> str:
    """Return a target with dots only: `up.a.C` for `up.a:C`.

    Args:
        target: The target.
    """
    return str(target).replace(":", ".")
