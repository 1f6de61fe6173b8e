"""Which modules of the package import which, and the circles of that."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from .source import DOORS, PACKAGE, PACKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .source import Module

Arrows = dict[str, set[str]]
"""What each name imports; names are of modules, rooms or wings."""
_IMPORT_FUNCTIONS = frozenset({"import_module", "__import__", "resolve_name"})
_PACK_PARTS = [[pack] for pack in PACKS]


def module_arrows(modules: Sequence[Module]) -> Arrows:
    """Name the modules that each module imports, at run time, for types, or by a string.

    Args:
        modules: All modules of the package; others are no arrow's end.

    Returns:
        The imports by module. The package itself is left out: all import it by importing
        anything of it.
    """
    names = {module.name for module in modules}
    arrows: Arrows = {}
    for module in modules:
        imported = set(_statement_imports(module, names)) | set(
            _string_imports(module, names)
        )
        arrows[module.name] = imported - {module.name, PACKAGE}
    del arrows[PACKAGE]
    return arrows


def room_arrows(modules: Iterable[Module], arrows: Arrows) -> Arrows:
    """Name the rooms that each room imports from; a flat module is a room.

    Args:
        modules: All modules of the package.
        arrows: What each of them imports.

    Returns:
        The imports by room, without those within one.
    """
    return _between_groups(arrows, {module.name: module.room for module in modules})


def wing_arrows(modules: Iterable[Module], arrows: Arrows) -> Arrows:
    """Name the wings and packs that each wing or pack imports from.

    Args:
        modules: All modules of the package.
        arrows: What each of them imports.

    Returns:
        The imports by wing, without those within one. A flat module is no wing's: who imports it
        imports what it does.
    """
    wings = {module.name: module.wing for module in modules}
    through_doors: Arrows = {}
    for importer in arrows:
        if wings[importer] != DOORS:
            through_doors[importer] = _past_doors(importer, arrows, wings)
    return _between_groups(through_doors, wings)


def _past_doors(importer: str, arrows: Arrows, wings: Mapping[str, str]) -> set[str]:
    """Name the modules in wings that a module imports, itself or by a flat module."""
    targets: set[str] = set()
    doors: set[str] = set()
    pending = [importer]
    while pending:
        for target in arrows[pending.pop()]:
            if wings[target] != DOORS:
                targets.add(target)
            elif target not in doors:
                doors.add(target)
                pending.append(target)
    return targets


def _between_groups(arrows: Arrows, groups: Mapping[str, str]) -> Arrows:
    between: defaultdict[str, set[str]] = defaultdict(set)
    for importer, targets in arrows.items():
        group = groups[importer]
        between[group].update(
            groups[target] for target in targets if groups[target] != group
        )
    return dict(between)


def _statement_imports(module: Module, names: set[str]) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & names
        elif isinstance(node, ast.ImportFrom):
            yield from _imports_from(node, module, names)


def _imports_from(
    node: ast.ImportFrom, module: Module, names: set[str]
) -> Iterator[str]:
    base = _absolute(node, module)
    for alias in node.names:
        submodule = f"{base}.{alias.name}"
        if submodule in names:
            yield submodule
        elif base in names:
            yield base


def _absolute(node: ast.ImportFrom, module: Module) -> str:
    """Return the module that `from … import` names, counting its dots from the importer."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    if module.is_package:
        parts.append("__init__")
    parent = ".".join(parts[: -node.level])
    if node.module:
        return f"{parent}.{node.module}"
    return parent


def _string_imports(module: Module, names: set[str]) -> Iterator[str]:
    """Yield what is imported by a function that is given the module's name."""
    constants = _constants(module)
    for node in module.nodes:
        if isinstance(node, ast.Call) and node.args and _is_import(node.func):
            argument = node.args[0]
            if isinstance(argument, ast.Name):
                argument = constants.get(argument.id, argument)
            yield from _named_by(argument, module, names)


def _named_by(argument: ast.expr, module: Module, names: set[str]) -> Iterable[str]:
    """Name the modules that an argument may stand for.

    If that cannot be read from the argument itself, every string of the file that names a module
    may be it. Packs in such a table are data: any other pack is read in the same way.
    """
    if isinstance(argument, ast.Constant):
        return names.intersection([argument.value])
    if isinstance(argument, ast.JoinedStr):
        return filter(_pattern(argument).fullmatch, names)
    return [
        name
        for name in _strings(module) & names
        if name.split(".")[1:2] not in _PACK_PARTS
    ]


def _constants(module: Module) -> dict[str, ast.expr]:
    """Return the expressions that the module's own names are assigned at its top."""
    return {
        target.id: statement.value
        for statement in module.tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _is_import(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr in _IMPORT_FUNCTIONS
    return isinstance(function, ast.Name) and function.id in _IMPORT_FUNCTIONS


def _pattern(template: ast.JoinedStr) -> re.Pattern[str]:
    """Return a pattern of the names that an f-string may be."""
    parts = []
    for part in template.values:
        if isinstance(part, ast.Constant):
            parts.append(re.escape(str(part.value)))
        else:
            parts.append(".+")
    return re.compile("".join(parts))


def _strings(module: Module) -> set[str]:
    return {
        node.value
        for node in module.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def circles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Find the groups of names that lead to one another.

    Args:
        arrows: What each name leads to.

    Returns:
        Each group in alphabetical order, none with one name only.
    """
    reachable = {name: _reachable(name, arrows) for name in arrows}
    groups = set()
    for name, targets in reachable.items():
        mutual = [target for target in targets if name in reachable.get(target, ())]
        groups.add(tuple(sorted(mutual)))
    return [list(group) for group in sorted(groups) if len(group) > 1]


def _reachable(name: str, arrows: Mapping[str, Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    pending = list(arrows.get(name, ()))
    while pending:
        target = pending.pop()
        if target not in reached:
            reached.add(target)
            pending.extend(arrows.get(target, ()))
    return reached
