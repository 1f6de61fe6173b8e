"""Tells which attributes a function sets on its argument: a decorator, or a hook of a class."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.called import (
    function_called,
    may_set_attributes,
)
from patchkit.analysis.upstream.resolving.computed_names import (
    name_pattern,
    names_own_attribute,
    sets_on_new_object,
)
from patchkit.analysis.upstream.resolving.function_code import FunctionCode
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    dotted,
    walk,
)
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value

DEPTH = 3
"""How deep calls are followed: a function that calls another, and so on."""
HARMLESS = frozenset(
    {"TypeVar", "cast", "isinstance", "issubclass", "hasattr", "getattr", "len"}
)
"""Functions that set nothing on a class that they are passed."""
_OF_CONTAINERS = frozenset(
    {"add", "append", "extend", "get", "insert", "setdefault", "update"}
)
_OF_LOGGERS = frozenset(
    {
        "critical",
        "debug",
        "debug_once",
        "error",
        "exception",
        "info",
        "info_once",
        "log",
        "warning",
        "warning_once",
    }
)
_SPECIAL = frozenset({*dir(type), "__set_name__", "__class_getitem__"})
"""Methods that Python itself calls, which are taken to set nothing."""
HARMLESS_METHODS = _OF_CONTAINERS | _OF_LOGGERS
"""Methods that store what they are passed, look it up or print it, and set nothing on it."""


class TouchedAttributes(NamedTuple):
    """The attributes that a function sets on its argument.

    Args:
        names: The attributes that are set or deleted on any object: the source does not tell
            which object is the argument. For methods that get another signature, as
            `signatures_set` has them.
        is_open: Whether it may set other attributes, too.
        passes_on: Whether it passes its argument on to code that is not known.
        replaces_any: Whether it sets names that are computed, such as those of all methods.
        makes_dataclass: Whether it makes a dataclass of its argument.
        removed: Those of the names that it deletes.
        certain: Those of the names that it sets on its first argument whenever it is called.
        patterns: What further names match that it may set: it computes them, such as `is_…`.
    """

    names: frozenset[str]
    is_open: bool
    passes_on: bool = False
    replaces_any: bool = False
    makes_dataclass: bool = False
    removed: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    certain: frozenset[str] = frozenset()

    @property
    def may_set_others(self) -> bool:
        """Whether it may set other attributes, where it is not known what a dataclass has."""
        return self.is_open or self.makes_dataclass


def touched_by(lookup: Lookup, function: Value, depth: int = 0) -> TouchedAttributes:
    """List the attributes that a function of the release sets on its argument.

    Args:
        lookup: The release.
        function: The function, or the method of a class.
        depth: How many calls led to it.

    Returns:
        The attributes; those that called functions and methods set are among them.
    """
    key = ("touched", id(function.nodes[0]), depth)
    return function.module_tree.remember(key, lambda: _touched(lookup, function, depth))


def bases_added_by(lookup: Lookup, function: Value, depth: int = 0) -> Iterator[Value]:
    """List the classes in `cls.__bases__ = cls.__bases__ + (…,)`.

    Args:
        lookup: The release.
        function: The function that is read, with those that it calls.
        depth: How many calls led to it.

    Yields:
        What each element of the tuple comes to; a class may come up more than once.
    """
    # Most modules do not say `__bases__`, and are spared the walk.
    if b"__bases__" in function.module_tree.source:
        for base in _bases_added(function.nodes[0]):
            yield from lookup.evaluate(base, Scope(function.module_tree))
    if depth >= DEPTH:
        return
    for owner, name in sorted(_code(function).called):
        called = _called(lookup, function, owner, name)
        if called is not None and called.nodes != function.nodes:
            yield from bases_added_by(lookup, called, depth + 1)


def _bases_added(function: ast.AST) -> Iterator[ast.expr]:
    """List the elements of the tuples that a function itself adds to `__bases__`."""
    for node in walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.BinOp):
            continue
        added = node.value.right
        is_of_bases = dotted(node.targets[0]).endswith(".__bases__")
        if is_of_bases and isinstance(added, ast.Tuple):
            yield from added.elts


def _touched(lookup: Lookup, function: Value, depth: int) -> TouchedAttributes:
    """Work out what a function sets on its argument; see `touched_by`, which remembers it.

    What it sets itself comes first; then, for each of its calls, what the called function sets.
    """
    code = _code(function)
    directly = _set_directly(lookup, function, code)
    names = set(directly.names)
    removed = set(directly.removed)
    patterns = set(directly.patterns)
    replaces_any = directly.replaces_any
    certain = set(code.certain)
    is_open = directly.is_open
    passes_on = False
    makes_dataclass = any(name == "dataclass" for _, name in code.passing)
    for owner, name in code.called:
        is_passed = (owner, name) in code.passing
        is_of_super = owner in code.supers
        called = None if is_of_super else _called(lookup, function, owner, name)
        # A function of another module knows the class only if it is passed it.
        if called is not None and called.tree is not function.tree and not is_passed:
            continue
        if called is None:
            # An unknown method of the argument may set anything on the argument; special methods
            # such as `__init_subclass__` are taken to set nothing.
            is_of_argument = is_of_super or owner in code.parameters
            is_open = is_open or (is_of_argument and name not in _SPECIAL)
            is_dataclass = name == "dataclass"  # `makes_dataclass` says so
            if is_passed and not passes_on and not is_dataclass:
                passes_on = _may_set(lookup, function, owner, name)
        elif called.nodes == function.nodes:
            continue  # what a recursive call sets is known already
        elif depth < DEPTH:
            touched = touched_by(lookup, called, depth + 1)
            names |= touched.names
            removed |= touched.removed
            patterns |= touched.patterns
            if (owner, name) in code.certain_calls:
                certain |= touched.certain
            is_open = is_open or touched.is_open
            passes_on = passes_on or (is_passed and touched.passes_on)
            replaces_any = replaces_any or touched.replaces_any
            makes_dataclass = makes_dataclass or touched.makes_dataclass
        else:
            passes_on = passes_on or is_passed  # it is not followed so deep
    # Only the first function is passed the class for certain; of those that it calls, `passes_on`
    # says whether it counts.
    if depth == 0:
        is_open = is_open or passes_on
    return TouchedAttributes(
        frozenset(names),
        is_open,
        passes_on,
        replaces_any,
        makes_dataclass,
        frozenset(removed),
        frozenset(patterns),
        frozenset(certain),
    )


def _set_directly(
    lookup: Lookup, function: Value, code: FunctionCode
) -> TouchedAttributes:
    """Return what a function itself sets and deletes, whatever it calls."""
    names = set(code.stored)
    removed = set(code.deleted)
    patterns: set[str] = set()
    replaces_any = False
    is_open = False
    node = function.nodes[0]
    assert isinstance(node, DEFS)
    for call in code.setters:
        if sets_on_new_object(lookup, function.module_tree, node, call):
            continue
        pattern = ""
        argument = _name_argument(call)
        if argument is not None:
            pattern = name_pattern(lookup, function.module_tree, node, argument)
        is_deletion = "delattr" in dotted(call.func)
        is_one_name = pattern.isidentifier()
        if is_one_name:
            names.add(pattern)
            removed |= {pattern} if is_deletion else set()
        elif pattern and not is_deletion:
            patterns.add(pattern)
        else:
            replaces_any = True
            is_own = names_own_attribute(function.module_tree, node, call)
            is_open = is_open or is_deletion or not is_own
    return TouchedAttributes(
        frozenset(names),
        is_open=is_open,
        replaces_any=replaces_any,
        removed=frozenset(removed),
        patterns=frozenset(patterns),
    )


def _name_argument(call: ast.Call) -> ast.expr | None:
    """Return what `setattr(cls, name, …)` and the like are passed as the name; None for none."""
    if len(call.args) < 2:
        return None
    is_method = "." in dotted(call.func)
    if is_method and "delattr" not in dotted(call.func):
        # The last but one of both `cls.__setattr__("x", …)` and `type.__setattr__(cls, "x", …)`.
        return call.args[-2]
    return call.args[1]


def _called(lookup: Lookup, function: Value, owner: str, name: str) -> Value | None:
    """Find what a function calls as `owner.name()`.

    Args:
        lookup: The release.
        function: The function.
        owner: What stands before the last dot; '' for a call of a plain name.
        name: The name that is called.

    Returns:
        The function, of whichever module; with an owner that is no module, a method of its own
        class. None if there is none.
    """
    found = function_called(lookup, function.module_tree, owner, name)
    if found is not None:
        classes = function.classes
        if found.tree is not function.tree:
            classes = ()  # what it calls is no method of the class
        return replace(function, nodes=(found.node,), tree=found.tree, classes=classes)
    if owner and function.classes:
        for method in function.class_statement.body:
            if isinstance(method, DEFS) and method.name == name:
                return replace(function, nodes=(method,))
    return None


def _may_set(lookup: Lookup, function: Value, owner: str, name: str) -> bool:
    """Whether a function that is not of the release, and is passed the argument, may change it.

    Args:
        lookup: The release.
        function: The function that makes the call.
        owner: What stands before the last dot of what is called; '' for a plain name.
        name: The name that is called.
    """
    if name in HARMLESS or name in HARMLESS_METHODS:
        return False
    return may_set_attributes(lookup, function.module_tree, owner, name)


def _code(function: Value) -> FunctionCode:
    """Read the code of a function once for all releases that have the same file."""
    node = function.nodes[0]
    key = ("code", id(node))
    return function.module_tree.remember_with_file(key, lambda: FunctionCode.read(node))
