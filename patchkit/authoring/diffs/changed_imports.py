"""Finds which imported names of a module are others in another version of it."""

import ast
from collections.abc import Collection

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.source.definitions import Definitions, is_for_types
from patchkit.core.rows.target import Target

_FUTURE = "from __future__ "


def changed_imports(
    before: Definitions, after: Definitions, release: CheckedRelease | None
) -> list[str]:
    """Return the names that both versions import, one from elsewhere than the other.

    Args:
        before: The old version.
        after: The new version.
        release: The release of the old one, which knows whether both mean the same thing.
    """
    names: list[str] = []
    for name, statement in after.imports.items():
        # A name that only the new version imports is for `new_imports`.
        old = before.imports.get(name, statement)
        if old == statement or _is_of_same_package(old, statement):
            continue
        if release is None or not _is_same(old, statement, release):
            names.append(name)
    return names


def new_imports(
    before: Definitions, after: Definitions, used: Collection[str]
) -> list[str]:
    """Return the names that only the new version imports, and that somebody may look for.

    A package, and a module with `__all__`, import names for others; else only edited code needs an
    import at the top of its module. Also, the old version may have defined a name that is imported
    by now.

    Args:
        before: The old version.
        after: The new version.
        used: The names that edited code uses.
    """
    needed = _exported(after).union(used)
    names: list[str] = []
    for name, statement in after.imports.items():
        if name in before.imports or statement.startswith(_FUTURE):
            continue
        is_needed = after.tree.is_package or name in needed
        if is_needed or binds(before, name):
            names.append(name)
    return names


def binds(module: Definitions, name: str) -> bool:
    """Whether a name is there when a module has run, by whatever statement.

    Args:
        module: The module.
        name: The name.
    """
    statements = module.binders.get(name, [])
    return any(not is_for_types(statement) for statement in statements)


def _exported(module: Definitions) -> set[str]:
    """Return the names in the `__all__` of a module."""
    names: set[str] = set()
    value = getattr(module.named.get("__all__"), "value", None)
    for node in getattr(value, "elts", ()):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return names


def _is_of_same_package(old: str, new: str) -> bool:
    """Whether both imports bind one top package: `import a.b` and `import a.c`."""
    is_plain = old.startswith("import ") and new.startswith("import ")
    return is_plain and " as " not in old and " as " not in new


def _is_same(old: str, new: str, release: CheckedRelease) -> bool:
    """Whether two imports bind the same thing, which a release has at both places."""
    places: set[tuple[str, str]] = set()
    for statement in (old, new):
        target = _target_of(statement)
        package = target.module.partition(".")[0]
        if not release.covers([package]):
            return False
        facts = release.facts(target)
        if not facts.is_present:
            return False
        if not facts.module:
            return False
        places.add((facts.module, facts.qualname))
    return len(places) == 1


def _target_of(statement: str) -> Target:
    """Return what an import of one name binds."""
    (node,) = ast.parse(statement).body
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    alias = node.names[0]
    if isinstance(node, ast.ImportFrom):
        return Target(node.module or "", alias.name)
    return Target(alias.name)
