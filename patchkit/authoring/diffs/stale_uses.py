"""Finds what a module made, as it was imported, from things that a difference changes.

A row makes its changes when the module has run. By then `TWICE = LIMIT * 2` and the default in
`def f(limit=LIMIT)` have the former `LIMIT`, and a decorator has done what it does.
"""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.source.definitions import (
    IMPORTS,
    Definitions,
    is_for_types,
    name_of,
)
from patchkit.authoring.source.global_names import bound_names, inner_statements
from patchkit.authoring.source.main_programs import is_main_program

CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__call__")
"""Methods that run when the name of their class, or of its object, is called."""
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)


class StaleUse(NamedTuple):
    """A statement that upstream ran with former values or functions, such as `TABLE = [LIMIT]`.

    Args:
        name: The qualified name that it defines; '' for none.
        node: The statement in the new text.
        values: The changed names that it read.
        called: The changed functions that it called, itself or by others.
    """

    name: str
    node: ast.stmt
    values: frozenset[str]
    called: frozenset[str]

    @property
    def reason(self) -> str:
        """Say, for the report, why no row can express its change."""
        names = " and ".join(sorted(self.values | self.called))
        return (
            f"it used {names} as the module was imported, and no row makes it once more"
        )

    @property
    def calls_only_builtins(self) -> bool:
        """Whether its value can be computed once more without any other effect."""
        for part in run_parts(self.node):
            if isinstance(part, ast.Call) and not _is_builtin(part.func):
                return False
        return True


@dataclass
class ChangedNames:
    """What a difference changes.

    Args:
        values: The qualified names of values and imports that become other class_by_object.
        functions: Those of functions, methods and classes that do something else when called.
        items: Those of tables that stay the same object, and get other items.
    """

    values: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.values) + len(self.functions)


class _Statement(NamedTuple):
    """A statement that runs as the module is imported.

    Args:
        prefix: The qualified name of its class, with a dot; '' in no class.
        node: The statement.
        is_plain: Whether it is under no condition.
    """

    prefix: str
    node: ast.stmt
    is_plain: bool

    @property
    def name(self) -> str:
        """The qualified name that it alone defines; '' for none."""
        defined = name_of(self.node) if self.is_plain else ""
        return f"{self.prefix}{defined}" if defined else ""


def stale_uses(
    before: Definitions, after: Definitions, changed: ChangedNames
) -> list[StaleUse]:
    """Return the statements that would have done something else with the changes.

    Args:
        before: The definitions of the old text.
        after: The definitions of the new text.
        changed: What differs between them; names that are made from it are added.

    Returns:
        The statements, in the order of their lines.
    """
    old_hashes = {of_nodes([statement.node]) for statement in _at_import(before)}
    class_by_object = _classes_of_objects(after)
    uses: dict[int, StaleUse] = {}
    former_size = -1
    # A use may itself be used: repeat until no more names are found.
    while former_size != changed.size:
        former_size = changed.size
        changed.functions |= _running_changed(after, changed, class_by_object)
        for statement in _at_import(after):
            use = _use_of_changed(statement, changed, class_by_object)
            if use is None:
                continue
            # A new statement is no use: upstream has not run it.
            has_run = of_nodes([statement.node]) in old_hashes
            if has_run or _has_run_otherwise(statement, before):
                uses[id(statement.node)] = use
                changed.values |= _set_by(statement)
    return sorted(uses.values(), key=lambda use: use.node.lineno)


def _has_run_otherwise(statement: _Statement, before: Definitions) -> bool:
    """Whether upstream has run a definition with another text, as a function or a class.

    Its change is for its body, and runs no decorator or default once more. A value that has another
    text does not count: its change makes it anew.
    """
    is_function_or_class = isinstance(statement.node, SCOPES)
    return is_function_or_class and statement.name in before.named


def _at_import(module: Definitions) -> Iterator[_Statement]:
    """Yield the statements of a module that run at its import, without those for a main program."""
    yield from _in_block(module.tree.tree.body, "", is_plain=True)


def _in_block(
    body: Iterable[ast.stmt], prefix: str, *, is_plain: bool
) -> Iterator[_Statement]:
    """Yield the statements of a block, of the blocks in it and of classes."""
    for node in body:
        if isinstance(node, IMPORTS) or is_main_program(node) or is_for_types(node):
            continue
        yield _Statement(prefix, node, is_plain)
        if isinstance(node, ast.ClassDef):
            inner_prefix = f"{prefix}{node.name}."
            yield from _in_block(node.body, inner_prefix, is_plain=is_plain)
        elif not isinstance(node, SCOPES):
            yield from _in_block(inner_statements(node), prefix, is_plain=False)


def _use_of_changed(
    statement: _Statement, changed: ChangedNames, class_by_object: Mapping[str, str]
) -> StaleUse | None:
    """Return what a statement uses of what is changed; None if that is nothing.

    Args:
        statement: The statement.
        changed: What is changed.
        class_by_object: By name of an object, that of its class.
    """
    values: set[str] = set()
    tables: Collection[str] = changed.items
    if statement.name in tables:  # its own items are changed, too
        tables = ()
    own_names = _names_of_comprehensions(statement.node)
    parts = list(_own_parts(statement.node))
    for part in parts:
        if isinstance(part, ast.Name) and part.id not in own_names:
            values |= _changed_meaning(part.id, statement.prefix, changed.values)
            # Another name of a table stands for the same object, which gets the items.
            if not _is_alias(statement.node, part):
                values |= _changed_meaning(part.id, statement.prefix, tables)
        elif isinstance(part, ast.Attribute):
            name = dotted(part)
            values |= {name} & changed.values
    # What the statement itself sets, it does not read.
    values -= _set_by(statement)
    called = _called(parts, class_by_object)
    called &= changed.functions
    if not values and not called:
        return None
    return StaleUse(
        statement.name, statement.node, frozenset(values), frozenset(called)
    )


def _set_by(statement: _Statement) -> set[str]:
    """Return the qualified names that an assignment sets."""
    names: set[str] = set()
    if isinstance(statement.node, _ASSIGNMENTS):
        own_names = _names_of_comprehensions(statement.node)
        for name in bound_names(statement.node) - own_names:
            qualname = f"{statement.prefix}{name}"
            names.add(qualname)
    return names


def _changed_meaning(name: str, prefix: str, changed: Collection[str]) -> set[str]:
    """Return the qualified name of the changed thing that a plain name means; empty for none.

    Args:
        name: The name, as it stands in code.
        prefix: The qualified name of the class whose body has the code, and a dot; '' in no class.
        changed: The qualified names of what is changed.
    """
    for qualname in (f"{prefix}{name}", name):
        if qualname in changed:
            return {qualname}
    return set()


def _is_alias(node: ast.stmt, part: ast.Name) -> bool:
    """Whether a statement only gives an object another name: `ALIAS = TABLE`."""
    return isinstance(node, _ASSIGNMENTS) and node.value is part


def _names_of_comprehensions(node: ast.stmt) -> set[str]:
    """Return the names that comprehensions of a statement bind for themselves."""
    names: set[str] = set()
    for part in run_parts(node):
        if isinstance(part, ast.comprehension):
            names |= stored(part.target)
    return names


def _own_parts(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement that run with it, without those of statements inside it."""
    yield from run_parts(node, with_blocks=False)


def run_parts(node: ast.AST, *, with_blocks: bool = True) -> Iterator[ast.AST]:
    """Yield the parts of code that run when it does: not the bodies of functions inside of it.

    Args:
        node: The code.
        with_blocks: Whether the statements inside of a compound statement count.
    """
    unread = [node]
    while unread:
        part = unread.pop()
        yield part
        if isinstance(part, (*DEFS, ast.Lambda)):
            decorators = getattr(part, "decorator_list", [])
            defaults = [*part.args.defaults, *part.args.kw_defaults]
            unread += decorators
            unread += filter(None, defaults)
            continue
        for child in _children(part):
            is_inner = isinstance(child, ast.stmt)
            if with_blocks or not is_inner:
                unread.append(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node, without annotations."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        parts = value
        if not isinstance(value, list):
            parts = [value]
        for part in parts:
            if isinstance(part, ast.AST):
                yield part


def _called(parts: Iterable[ast.AST], class_by_object: Mapping[str, str]) -> set[str]:
    """Return the qualified names that code calls, decorators included.

    Args:
        parts: The parts of the code.
        class_by_object: By name of an object, that of its class: `obj.m()` calls `C.m`.
    """
    names: set[str] = set()
    for part in parts:
        functions: list[ast.AST] = list(getattr(part, "decorator_list", ()))
        if isinstance(part, ast.Call):
            functions.append(part.func)
        for function in functions:
            name = dotted(function)
            owner, dot, method = name.rpartition(".")
            owner_class = class_by_object.get(owner, owner)
            called = f"{owner_class}{dot}{method}"
            names.add(called)
    return names


def _classes_of_objects(module: Definitions) -> dict[str, str]:
    """Return the class of each object that an assignment of the module makes, by its name."""
    classes: dict[str, str] = {}
    for name, node in module.named.items():
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call):
            continue
        maker = dotted(value.func)
        if maker in module.named:
            classes[name] = maker
    return classes


def _running_changed(
    module: Definitions, changed: ChangedNames, class_by_object: Mapping[str, str]
) -> set[str]:
    """Return the functions that read changed values, or call changed functions, when they run.

    A class of which a constructor is changed is among them, as a call of the class runs that.
    """
    running: set[str] = set()
    for name, node in module.named.items():
        owner, _, method = name.rpartition(".")
        if owner and method in CONSTRUCTORS and name in changed.functions:
            running.add(owner)
        if not isinstance(node, DEFS) or name in changed.functions:
            continue
        parts: list[ast.AST] = []
        for statement in node.body:
            parts += run_parts(statement)
        read = _read_by(node, parts)
        read &= changed.values | changed.items
        called = _called(parts, class_by_object)
        called &= changed.functions
        if read or called:
            running.add(name)
    return running


def _read_by(function: Def, parts: Iterable[ast.AST]) -> set[str]:
    """Return the names of its module that a function has in the parts that run with it."""
    names: set[str] = set()
    for part in parts:
        if isinstance(part, ast.Name):
            names.add(part.id)
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            names.discard(argument.arg)
    for statement in function.body:
        names -= bound_names(statement)
    return names


def _is_builtin(function: ast.AST) -> bool:
    """Whether what is called is a builtin, such as `tuple`."""
    return isinstance(function, ast.Name) and hasattr(builtins, function.id)
