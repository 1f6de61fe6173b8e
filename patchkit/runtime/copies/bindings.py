"""Finds in the source of a module what each name is bound to.

In `from a import b`, `c = b.d` and `e = []`, `b` is bound to the attribute `b` of module `a`, `c`
to the attribute `d` of `b`, and `e` to a new object.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class NameSource(NamedTuple):
    """Another name or attribute that a name is bound to.

    Args:
        names: The dotted name, split: `("b", "d")` for `b.d`.
        module: The module that an import takes the first name from; None if it is a name in the
            same code.
        level: The number of dots before the module in a relative import.
    """

    names: tuple[str, ...]
    module: str | None = None
    level: int = 0


class Constant(NamedTuple):
    """A literal that a name is bound to, or a new object: a string, a function, a new list.

    Args:
        constant: The value of a literal; None for a new object.
    """

    constant: Any = None


Value = NameSource | Constant | None
"""What a name is bound to; None if the code does not show it, as for the result of a call."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.ClassDef)
_NAMED = (*_SCOPES, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_MAKES = (ast.List, ast.Dict, ast.Set, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_BY_TEXT = frozenset(
    ("globals", "locals", "vars", "setattr", "exec", "__dict__", "__setattr__")
)
"""Names whose use may bind names that are known only at run time."""


class Bindings:
    """The bindings in the code of one module or class; those in functions do not count.

    A `global` name in a function counts, as one that may be bound to anything.

    Args:
        scope: The syntax tree of the module or class.
    """

    def __init__(self, scope: ast.AST) -> None:
        self._scope = scope
        self._names: dict[str, set[Value]] = {}
        self.stars: list[NameSource] = []
        nodes = list(_own_nodes(scope))
        assigned: dict[ast.AST, ast.AST] = {}  # the value by the node of its target
        for node in nodes:
            assigned.update(_assigned(node))
        for node in nodes:
            context = getattr(node, "ctx", None)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            # The target of a `for` or a `with` has no value here: what it is bound to is unknown.
            elif isinstance(context, ast.Store):
                value = _value(assigned.get(node))
                self._bind(_dotted(node), value)
            elif isinstance(node, FUNCTIONS) and not node.decorator_list:
                self._bind(node.name, Constant())
            # What a decorator, an `except … as` or a `match` binds, the code does not show. A class
            # counts as such, too.
            elif isinstance(node, _NAMED) and node.name is not None:
                self._bind(node.name, None)
        if isinstance(scope, ast.Module):
            for name in _declared_global(scope):
                self._bind(name, None)

    def own(self, name: str) -> set[Value]:
        """Return everything that this code binds `name` to; `A.name` for an attribute is fine."""
        return self._names.get(name, set())

    def may_set(self, name: str) -> bool:
        """Whether `name` may be bound in a way that `own` misses: `setattr`, `cls.name = …`."""
        setting: list[ast.AST] = []
        for node in ast.walk(self._scope):
            mentioned = getattr(node, "id", None)
            if isinstance(node, ast.Attribute):
                mentioned = node.attr
                is_stored = isinstance(node.ctx, ast.Store)
                # `self.name = …` sets an attribute of an instance.
                if is_stored and mentioned == name and _dotted(node) != f"self.{name}":
                    setting.append(node)
            if mentioned in _BY_TEXT:
                return True
        # `own` has what is set outside of functions. So only a node inside of one is missed.
        return bool(setting) and not set(setting).issubset(_own_nodes(self._scope))

    def inner(self, path: Iterable[str]) -> "list[Bindings]":
        """Return the bindings in the body of a nested class.

        Args:
            path: The names of the classes around it and its own: `("A", "B")` for `A.B`.

        Returns:
            One for each `class` statement with that name, as in the branches of an `if`; none if
            the class is made in a function.
        """
        bodies: list[ast.AST] = [self._scope]
        for name in path:
            inner_bodies: list[ast.AST] = []
            for body in bodies:
                inner_bodies += _classes_named(name, body)
            bodies = inner_bodies
        return [Bindings(body) for body in bodies]

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Add the names that an import binds."""
        for alias in node.names:
            top, *submodules = alias.name.split(".")
            if isinstance(node, ast.ImportFrom):  # `from a import b`: the `b` of `a`
                module = node.module or ""
                source = NameSource((alias.name,), module, node.level)
            elif alias.asname:  # `import a.b as c` binds `c` to the `b` of `a`
                source = NameSource(tuple(submodules), top)
            else:
                source = NameSource((), top)  # `import a.b` binds `a`
            if alias.name == "*":  # what is asked for later is put in as the name
                self.stars.append(source._replace(names=()))
            else:
                name = alias.asname or top
                self._bind(name, source)

    def _bind(self, name: str, value: Value) -> None:
        """Add a binding; '' is the name of a target that is not known, and is left out."""
        if name:
            values = self._names.setdefault(name, set())
            values.add(value)


def _value(node: ast.AST | None) -> Value:
    """Return what a name is bound to by assigning an expression to it."""
    if isinstance(node, ast.Name):
        return NameSource((node.id,))
    if isinstance(node, ast.Attribute):
        owner = _value(node.value)
        if not isinstance(owner, NameSource):
            return None
        names = (*owner.names, node.attr)
        return owner._replace(names=names)
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    if isinstance(node, _MAKES):
        return Constant()
    return None


def _declared_global(module: ast.Module) -> Iterator[str]:
    """Yield the names in the `global` statements of functions and classes."""
    for scope in all_scopes(module):
        for node in _statements(scope):
            if isinstance(node, ast.Global):
                yield from node.names


def all_scopes(
    scope: Any,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield every function and class in the code of `scope`, and those inside them."""
    for node in _statements(scope):
        if isinstance(node, _SCOPES):
            yield node
            yield from all_scopes(node)


def _classes_named(name: str, body: ast.AST) -> list[ast.ClassDef]:
    """Return the `class` statements with a name in a module or class, without nested scopes."""
    statements = _statements(body)
    return [
        node
        for node in statements
        if isinstance(node, ast.ClassDef) and node.name == name
    ]


def _statements(scope: Any) -> Iterator[ast.AST]:
    """Yield the statements of a scope, with those in `if`, `try` and the like.

    A function or class in it is yielded, but its own statements are not.
    """
    pending = [scope]
    while pending:
        node = pending.pop()
        for block in _live_blocks(node):
            statements = getattr(node, block, ())
            for statement in statements:
                yield statement
                if not isinstance(statement, _SCOPES):
                    pending.append(statement)


def _live_blocks(node: ast.AST) -> tuple[str, ...]:
    """Return the names of a statement's blocks that may run: only one of the two for `if 0:`."""
    if not isinstance(node, ast.If):
        return _BLOCKS
    if not isinstance(node.test, ast.Constant):
        return _BLOCKS
    if node.test.value:
        return ("body",)
    return ("orelse",)


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a scope, and all nodes of the expressions that are part of them."""
    for statement in _statements(scope):
        yield statement
        children = ast.iter_child_nodes(statement)
        for child in children:
            # The statements inside of a statement are yielded by `_statements` themselves.
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from _walk(child)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, without those in the scope of a lambda or comprehension."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        # Of `for x in y if z` only `y` and `z`: the `x` is bound in the comprehension only.
        if isinstance(node, ast.comprehension):
            pending.append(node.iter)
            pending += node.ifs
        elif isinstance(node, ast.Lambda):
            pending += ast.iter_child_nodes(node.args)  # the defaults
        else:
            pending += ast.iter_child_nodes(node)


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield target and value of each assignment of a statement; none for `a, b = value`."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value


def _dotted(node: Any) -> str:
    """Return the dotted name of an expression such as `a.b.c`; '' for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        if owner:
            return f"{owner}.{node.attr}"
    return ""
