"""Finds the modules of a pile that bodies import, and that the pack needs a copy of.

A pile is a package that patches upstream as it is imported. A body imports what it uses of modules
without rows from the pile. Where nothing keeps the pile off, as its outermost package patches
upstream itself, that import would make the pile's own changes beside the rows.
"""

import ast
from collections.abc import (
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Protocol

from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.diffs.unexpressed import TO_LOOK_AT, UnexpressedCode
from patchkit.authoring.piles.bodies import module_text
from patchkit.authoring.piles.guards import common_package, last_of
from patchkit.authoring.piles.pile_imports import binds_used_package
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.row_names import body_word, unused
from patchkit.authoring.source.definitions import IMPORTS

NO_PACKAGE = (
    "it lies in no package: nothing keeps it off, so that nobody may import it any more"
)
"""Why a person has to look at a module of a pile that no row can keep off."""
_NAMES_PILE = (
    "it imports the pile, which nothing keeps off: that makes the pile's own changes"
)


class Pile(Protocol):
    """What is known of a pile: see `PileRows`.

    Args:
        base: The package that contains all modules of the pile with rows.
        codes: By module of the pile, the module of the pack that has its code.
        pack: The name of the pack that the rows are written into.
        readers: The readers of the pile's modules.
    """

    base: str
    codes: dict[str, str]
    pack: str
    readers: Sequence[PileReader]


def add_helpers(pile: Pile, with_rows: Sequence[PileReader]) -> list[PileReader]:
    """Have the pack get the modules that those with rows import, where nothing keeps the pile off.

    Args:
        pile: The pile; its `codes` get the modules.
        with_rows: The readers of the modules with rows.

    Returns:
        The readers of these modules, also of those that they import themselves.
    """
    by_name = {reader.module.name: reader for reader in pile.readers}
    names = [reader.module.name for reader in with_rows]
    seen = set(names)
    unread = [
        reader for reader in with_rows if not is_kept_off(reader.module.name, names)
    ]
    helpers: list[PileReader] = []
    while unread:
        reader = unread.pop()
        for _, module in _imports(reader, by_name):
            if module not in by_name or module in seen:
                continue
            seen.add(module)
            word = f"{pile.pack}.code_{body_word(module, pile.base)}"
            pile.codes[module] = unused(word, pile.codes.values())
            helpers.append(by_name[module])
            unread.append(by_name[module])
    return helpers


def texts_of(
    helpers: Sequence[PileReader],
    codes: Mapping[str, str],
    readers: Sequence[PileReader],
    origin: str,
) -> dict[str, str]:
    """Return the texts of modules for the pack, by the names of the pack's modules.

    Args:
        helpers: The readers of the modules.
        codes: By module of the pile, the module of the pack that has its code.
        readers: The readers of all modules of the pile.
        origin: The name of the pile in texts.

    Returns:
        The texts.
    """
    modules = [reader.module.name for reader in readers]
    texts: dict[str, str] = {}
    for reader in helpers:
        code = last_of(codes[reader.module.name])
        texts[code] = module_text(reader, codes, modules, origin)
    return texts


def imports_of_pile(
    copied: Sequence[PileReader], codes: Mapping[str, str]
) -> Iterator[UnexpressedCode]:
    """Yield the imports in copied modules that still are of the pile, for the list.

    Args:
        copied: The readers of the modules whose text the pack has.
        codes: By module of the pile, the module of the pack that has its text.
    """
    names = [reader.module.name for reader in copied]
    for reader in copied:
        if is_kept_off(reader.module.name, names):
            continue
        path = reader.module.path
        top = reader.module.name.partition(".")[0]
        for node, module in _imports(reader, codes):
            is_of_pile = module.partition(".")[0] == top
            is_moved = module in codes and not binds_used_package(
                node, reader.module.tree
            )
            if is_of_pile and not is_moved:
                code = ast.unparse(node)
                yield UnexpressedCode(
                    path, node.lineno, code, _NAMES_PILE, kind=TO_LOOK_AT
                )


def _imports(
    reader: PileReader, modules: Container[str]
) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the imports of a module, also in functions, with each module that they import.

    Args:
        reader: The reader of the module.
        modules: The names of known modules: `from package import name` may import one.
    """
    for node in ast.walk(reader.module.tree):
        if not isinstance(node, IMPORTS):
            continue
        names: dict[str, None] = {}
        for _name, _stands_for, target in imported(node, reader.module):
            inner = str(target).replace(":", ".")
            names[inner if inner in modules else target.module] = None
        for name in names:
            yield node, name


def is_kept_off(module: str, with_rows: Iterable[str]) -> bool:
    """Whether a module lies in a package that all modules with rows of its pile lie in.

    The stand-ins of modules are put there before that package is imported.

    Args:
        module: The module.
        with_rows: The modules with rows.
    """
    top = module.partition(".")[0]
    beside = [name for name in with_rows if name.partition(".")[0] == top]
    return common_package(beside) != ""


def begun_import(
    reader: PileReader, readers: Sequence[PileReader], with_rows: Collection[str]
) -> str:
    """Return the import of a package that a body needs before it imports the code of a module.

    The code may import another module of the pile, and so the outermost package, which may import
    the modules with rows: there it would find the code half imported. Who imports the pile's own
    module imports that package first.

    Args:
        reader: The reader of the module.
        readers: The readers of all modules of the pile.
        with_rows: The names of the modules from which rows are made.

    Returns:
        The import of the outermost package, as two lines; '' if nothing has to be imported first.
    """
    if not is_kept_off(reader.module.name, with_rows):
        return ""  # then the pack has a copy of what it imports
    top = reader.module.name.partition(".")[0]
    others = [
        pile_import.module
        for pile_import in reader.imports
        if pile_import.module.partition(".")[0] == top
        and not _is_module_of(pile_import.module, with_rows)
    ]
    read = {each.module.name for each in readers}
    # With `--only`, the outermost package is not read, and may import anything.
    are_read = all(_is_module_of(module, read) for module in others)
    leads_back = not _imported_by(top, readers).isdisjoint(with_rows)
    if others and (leads_back or not are_read):
        return f"import {top}\n\n"
    return ""


def _is_module_of(name: str, modules: Container[str]) -> bool:
    """Whether a name is that of one of some modules, or of something in one."""
    return name in modules or name.rpartition(".")[0] in modules


def _imported_by(package: str, readers: Sequence[PileReader]) -> set[str]:
    """Return the modules of a pile whose import the import of a package may lead to."""
    imports_of = {reader.module.name: reader.imports for reader in readers}
    found = set[str]()
    unread = [package]
    while unread:
        name = unread.pop()
        if name in found or name not in imports_of:
            continue
        found.add(name)
        for pile_import in imports_of[name]:
            unread += _with_packages(pile_import.module)
    return found


def _with_packages(module: str) -> list[str]:
    """Return the name of a module, and those of the packages that it lies in."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
