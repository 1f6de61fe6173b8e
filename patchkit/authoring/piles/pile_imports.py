"""Tells which modules of a pile import one another, or seem to use each other's names."""

import ast
import re
from collections.abc import Collection, Sequence

from patchkit.authoring.piles.guards import last_of
from patchkit.authoring.piles.pile_reader import PileReader


def imported_modules(readers: Sequence[PileReader]) -> set[str]:
    """Return the full names of the modules that other modules, those of a pile, import.

    Args:
        readers: The readers of the pile's modules.
    """
    imported: set[str] = set()
    for reader in readers:
        names = {pile_import.module for pile_import in reader.imports}
        imported |= names - {reader.module.name}
    return imported


def root_modules(
    readers: Sequence[PileReader], with_rows: Collection[str]
) -> list[str]:
    """Return the modules to import so that the whole pile is imported.

    These are the packages, and the modules with rows, that no other module imports. That a package
    is imported by a module in it does not count: the package is there before that module.

    Args:
        readers: The readers of the pile's modules.
        with_rows: The names of the modules from which rows are made.

    Returns:
        Their full names, in the order of the readers.
    """
    imported = set[str]()
    for reader in readers:
        own_name = reader.module.name
        for pile_import in reader.imports:
            if not f"{own_name}.".startswith(f"{pile_import.module}."):
                imported.add(pile_import.module)
    roots: list[str] = []
    for reader in readers:
        name = reader.module.name
        if name not in imported and (reader.module.is_package or name in with_rows):
            roots.append(name)
    return roots


def is_used_elsewhere(
    owner: PileReader, readers: Sequence[PileReader], names: set[str]
) -> bool:
    """Return whether another module of a pile seems to use one of some names of a module.

    That is so where its text has, as words, one of the names and the name of the module.

    Args:
        owner: The reader of the module that has the names.
        readers: The readers of all modules.
        names: The names.
    """
    module_name = last_of(owner.module.name)
    for reader in readers:
        if reader is owner:
            continue
        words = set(re.findall(r"\w+", reader.module.source.decode(errors="replace")))
        if module_name in words and not names.isdisjoint(words):
            return True
    return False


def binds_used_package(node: ast.stmt, tree: ast.Module) -> bool:
    """Whether an import such as `import pile.lib` binds a package that the module uses.

    Then the name may be followed by that of any module in the package.

    Args:
        node: The import.
        tree: The module.
    """
    if not isinstance(node, ast.Import):
        return False
    packages = {
        alias.name.partition(".")[0] for alias in node.names if not alias.asname
    }
    return any(
        isinstance(part, ast.Name) and part.id in packages for part in ast.walk(tree)
    )
