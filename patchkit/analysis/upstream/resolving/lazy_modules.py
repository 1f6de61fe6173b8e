"""Reads packages that put a `_LazyModule` in their place, as those of transformers do.

Such a package lists its names by submodule, `{"cache_utils": ["DynamicCache"]}`, and imports a
submodule once one of its names is read. For type checkers it imports them all.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from patchkit.analysis.upstream.resolving.kept_submodules import kept_submodule
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted, walk
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Values,
    absent,
    undecided,
)

_REPLACES = re.compile(rb"\bmodules\[(__name__|[\"'][\w.]+[\"'])\]\s*=[^=]")
_LOADER = "_LazyModule"
_STRUCTURE_FROM_FILES = "define_import_structure"
"""The function that lists the names which the `__all__` of each file of a folder has."""
_STAND_IN = "dummy_"
"""Begins the names of modules that stand in where a package such as torch is not installed."""
_FEW = 30
"""So many star imports are followed for a name; of more, only those that the name begins with."""


@dataclass
class _Contents:
    """What the file of a lazy package says of its names.

    Args:
        is_known: Whether the package is of the form that is known here.
        modules: By name, the submodules that are said to have it, relative to the package.
        imports: By name, what type checkers are told: the module and the name in it.
        stars: The modules of star imports for type checkers.
        texts: Every text in the file, any of which may name something.
        is_open: Whether code lists further names.
    """

    is_known: bool = False
    modules: dict[str, list[str]] = field(default_factory=dict)
    imports: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    is_open: bool = False


def replaces_itself(tree: ModuleTree) -> bool:
    """Whether a module puts another object in its place in `sys.modules`.

    Args:
        tree: The module.
    """
    return tree.remember_with_file("replaced", lambda: bool(_replacements(tree)))


def _replacements(tree: ModuleTree) -> list[ast.Assign]:
    """Find the assignments to `sys.modules[__name__]`; most modules have none in their text."""
    # A plain search is much faster than the pattern, and rules out almost every module.
    if b"modules[" not in tree.source or not _REPLACES.search(tree.source):
        return []
    return [
        node
        for node in walk(tree.tree)
        if isinstance(node, ast.Assign)
        and any(_is_own_place(tree.name, target) for target in node.targets)
    ]


def _is_own_place(module: str, target: ast.expr) -> bool:
    """Whether an assignment's target is `sys.modules[__name__]`, or has the module's own name."""
    if not isinstance(target, ast.Subscript):
        return False
    if not dotted(target.value).endswith("modules"):
        return False
    key = target.slice
    if isinstance(key, ast.Constant):
        return bool(key.value == module)
    return dotted(key) == "__name__"


def replaced_values(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Return what a name is of a module that puts another object in its place.

    Args:
        lookup: The release.
        tree: The module.
        name: The name.

    Returns:
        What the known loader gives for it; an undecided value if another object takes the place.
    """
    contents = tree.remember_with_file("lazy package", lambda: _contents(tree))
    unknown = undecided(
        f"{tree.name} puts something else into sys.modules under its name"
    )
    if not contents.is_known:
        kept = kept_submodule(lookup, tree, [tree], name)
        return _of_other_module(lookup, tree, name) or kept or (unknown,)
    for module, imported in _declared(tree, contents, name):
        values = lookup.module_attribute(module, imported)
        if all(value.state == "present" for value in values):
            return values
    if name.startswith("_"):
        return (unknown,)  # the loader's own attributes begin with an underscore
    submodule = lookup.module(f"{tree.name}.{name}")
    if submodule.state == "present":
        return (submodule,)
    from_stars = _from_stars(lookup, tree, contents, name)
    if from_stars:
        return from_stars
    if contents.is_open or name in contents.texts:
        return (undecided(f"{tree.name} lists its names by code, and may have {name}"),)
    # A module that a finder makes is an attribute once it is imported; its name is no class's.
    if submodule.state == "undecidable" and not name[0].isupper():
        return (submodule,)
    return (absent(f"{tree.name} has no {name!r}"),)


def _of_other_module(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Return what a name is of the module that another one puts in its place; () for no module."""
    replacements = _replacements(tree)
    if len(replacements) != 1 or replacements[0] not in tree.tree.body:
        return ()
    values = lookup.evaluate(replacements[0].value, Scope(tree))
    if len(values) != 1 or values[0].kind is not Kind.MODULE:
        return ()
    other = values[0].module
    if other == tree.name:
        return ()
    return lookup.module_attribute(other, name)


def _declared(
    tree: ModuleTree, contents: _Contents, name: str
) -> Iterator[tuple[str, str]]:
    """Yield the modules that are said to have a name, each with its name there."""
    for module in contents.modules.get(name, ()):
        yield f"{tree.name}.{module}", name
    yield from contents.imports.get(name, ())


def _from_stars(
    lookup: Lookup, tree: ModuleTree, contents: _Contents, name: str
) -> Values:
    """Look a name up in the modules that type checkers import with a star.

    Returns:
        () if none has it; an undecided value if one may have it, or not all were looked at.
    """
    modules = contents.stars
    if len(modules) > _FEW:
        modules = [module for module in modules if _begins_with(name, module)]
    is_unknown = len(modules) < len(contents.stars)
    for module in modules:
        is_exported = lookup.exports(module, name)
        if is_exported:
            values = lookup.module_attribute(module, name)
            if all(value.state == "present" for value in values):
                return values
        is_unknown = is_unknown or is_exported is not False
    if is_unknown:
        return (
            undecided(f"{tree.name} has names of many modules, and may have {name}"),
        )
    return ()


def _begins_with(name: str, module: str) -> bool:
    """Whether a name begins with that of a module: `Qwen2VLConfig` with `models.qwen2_vl`.

    Tables, whose names are in capitals, are in `auto`: `MODEL_FOR_CAUSAL_LM_MAPPING`.
    """
    _, _, last = module.rpartition(".")
    if name.isupper() and last == "auto":
        return True
    return name.replace("_", "").lower().startswith(last.replace("_", ""))


def _contents(tree: ModuleTree) -> _Contents:
    """Read the file of a lazy package."""
    contents = _Contents()
    values = [node.value for node in _replacements(tree)]
    contents.is_known = tree.is_package and all(map(_is_loader, values))
    if not contents.is_known:
        return contents
    for node in walk(tree.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            contents.texts.add(node.value)
        elif isinstance(node, ast.Call):
            function = dotted(node.func).rpartition(".")[2]
            contents.is_open |= function == _STRUCTURE_FROM_FILES
        elif isinstance(node, ast.If) and _is_for_type_checkers(node.test):
            _read_imports(tree, node, contents)
        for module, listed in _listed(node):
            if _STAND_IN not in module:
                contents.modules.setdefault(listed, []).append(module)
    return contents


def _is_loader(value: ast.expr) -> bool:
    """Whether an expression makes a `_LazyModule`."""
    return isinstance(value, ast.Call) and dotted(value.func).endswith(_LOADER)


def _is_for_type_checkers(test: ast.expr) -> bool:
    """Whether a test is `TYPE_CHECKING`, or `TYPE_CHECKING or …`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(_is_for_type_checkers, test.values))
    return dotted(test).endswith("TYPE_CHECKING")


def _read_imports(tree: ModuleTree, block: ast.If, contents: _Contents) -> None:
    """Read the imports for type checkers, which stand in the body of an `if`."""
    nodes = [node for statement in block.body for node in walk(statement)]
    for node in nodes:
        if not isinstance(node, ast.ImportFrom):
            continue
        module = tree.absolute(node.module, node.level)
        if module is None or _STAND_IN in module:
            continue
        for alias in node.names:
            if alias.name == "*":
                contents.stars.append(module)
            else:
                bound = alias.asname or alias.name
                places = contents.imports.setdefault(bound, [])
                places.append((module, alias.name))


def _listed(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each submodule and name that an entry of a table lists.

    Entries are `{"module": ["name"]}`, `table["module"] = ["name"]`, `table["module"] += ["name"]`
    and `table["module"].extend(["name"])`.
    """
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _entry(key, value)
    elif isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Subscript):
                yield from _entry(target.slice, node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        table = node.func.value
        if isinstance(table, ast.Subscript) and node.args:
            yield from _entry(table.slice, node.args[0])


def _entry(key: ast.expr | None, value: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield the submodule that a key names, with each name of the list that is its value."""
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return
    if not isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return
    for element in value.elts:
        if isinstance(element, ast.Constant) and isinstance(element.value, str):
            yield key.value, element.value
