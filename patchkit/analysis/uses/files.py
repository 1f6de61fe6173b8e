"""Lists what files use of some import packages (*upstream*), without running the files."""

from collections.abc import Collection, Iterable

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.uses.assignments import provided_by, with_assigned
from patchkit.analysis.uses.put_modules import PutModules
from patchkit.analysis.uses.reader import FileReader
from patchkit.analysis.uses.use import Use


def uses_of(trees: Iterable[ModuleTree], roots: Collection[str]) -> list[Use]:
    """List what files use of some import packages.

    Args:
        trees: The files.
        roots: The names of the import packages.

    Returns:
        The uses. A use of `up.x` also counts as guarded if one of the files assigns `up.x`, and
        has not read it before: then `up.x` exists, whatever the release has.
    """
    uses: list[Use] = []
    provided: set[str] = set()  # names that exist because the files assign them
    attributes: set[str] = set()  # names of all other attributes that they read
    put = PutModules(roots)
    for tree in trees:
        put.read(tree)
        reader = FileReader(tree, frozenset(roots))
        reader.read()
        uses += reader.uses
        scoped = zip(reader.uses, reader.scopes, strict=True)
        provided |= provided_by(reader.assignments, scoped)
        attributes |= reader.attributes
    uses = list(with_assigned(uses, provided | put.names()))
    return [use.marked_if_read(attributes) for use in uses]
