"""Reads which attributes the `__new__` and `__init__` of a metaclass set on classes."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import Def, dotted
from patchkit.analysis.upstream.resolving.touches import (
    HARMLESS,
    HARMLESS_METHODS,
    SETTERS,
)

_READ_NAMESPACE = frozenset({"copy", "get", "items", "keys", "values"})
"""Methods of a namespace that leave it as it is."""
_WRITE_NAMESPACE = frozenset({"pop", "setdefault"})
"""Methods of a namespace that set or remove the name that they are passed first."""
_COPY_OR_READ = (
    HARMLESS
    | HARMLESS_METHODS
    | {"any", "dict", "list", "set", "sorted", "super", "tuple"}
)
"""Functions that change neither a namespace nor a class that they are passed."""


class MetaclassSettings(NamedTuple):
    """What a metaclass sets on the classes that it makes.

    Args:
        names: The attributes that it sets, replaces or removes.
        is_open: Whether it may do so with others, too.
    """

    names: frozenset[str]
    is_open: bool = False


OPEN = MetaclassSettings(frozenset(), is_open=True)


def settings_of(maker: Def) -> MetaclassSettings:
    """Read what one method of a metaclass sets on a class.

    Args:
        maker: Its `__new__` or `__init__`.

    Returns:
        The attributes; `OPEN` if the method does anything with the class, or with its namespace,
        that is not known to leave other attributes alone.
    """
    reader = _MakerReader(maker)
    if not reader.is_plain():
        return OPEN
    names: set[str] = set()
    for node in ast.walk(maker):
        if not isinstance(node, ast.Name):
            continue
        found: set[str] | None = set()
        if node.id in reader.classes:
            found = reader.set_on_class(node)
        elif node.id == reader.namespace:
            found = reader.set_in_namespace(node)
        elif node.id == reader.bases and isinstance(node.ctx, ast.Store):
            found = None  # other bases have other attributes
        if found is None:
            return OPEN
        names |= found
    return MetaclassSettings(frozenset(names))


class _MakerReader:
    """Follows the class and its namespace through one method of a metaclass.

    Args:
        maker: The method: `__new__(mcs, name, bases, namespace)`, or `__init__` with the class in
            the place of `mcs`.

    Attributes:
        namespace: The parameter for the namespace; '' if the method has none.
        bases: The parameter for the bases; '' if the method has none.
        classes: The variables that hold the class.
    """

    def __init__(self, maker: Def) -> None:
        self._maker = maker
        parameters = [one.arg for one in (*maker.args.posonlyargs, *maker.args.args)]
        padded = [*parameters, "", "", "", ""]
        self.bases = padded[2]
        self.namespace = padded[3]
        self._is_new = maker.name == "__new__"
        self._parents: dict[ast.AST, ast.AST] = {}
        for parent in ast.walk(maker):
            for child in ast.iter_child_nodes(parent):
                self._parents[child] = parent
        self.classes: set[str] = set()
        if self._is_new:
            self.classes.update(self._variables_of_classes())
        elif parameters:
            self.classes.add(parameters[0])

    def is_plain(self) -> bool:
        """Whether the class that the method makes has the namespace that it is passed."""
        if not self._is_new:
            return True
        calls = [node for node in ast.walk(self._maker) if _makes_class(node)]
        returned = [
            node.value for node in ast.walk(self._maker) if isinstance(node, ast.Return)
        ]
        if not calls or not returned or not self.namespace:
            return False
        for call in calls:
            assert isinstance(call, ast.Call)
            if len(call.args) < 4 or dotted(call.args[3]) != self.namespace:
                return False
        return all(
            value is not None and (_makes_class(value) or dotted(value) in self.classes)
            for value in returned
        )

    def set_on_class(self, node: ast.Name) -> set[str] | None:
        """List what one use of the class sets on it.

        Args:
            node: The use.

        Returns:
            The attributes; None if that is not known.
        """
        parent = self._parents[node]
        if isinstance(node.ctx, ast.Store):
            is_made = isinstance(parent, ast.Assign) and _makes_class(parent.value)
            return set() if is_made else None
        if isinstance(parent, ast.Attribute):
            return self._by_attribute(parent)
        if isinstance(parent, ast.Call):
            return self._by_call(parent)
        if isinstance(parent, ast.Assign):  # kept in a container, such as a registry
            is_kept = all(isinstance(one, ast.Subscript) for one in parent.targets)
            return set() if is_kept else None
        if isinstance(parent, (ast.Compare, ast.Return, ast.FormattedValue)):
            return set()
        return None

    def set_in_namespace(self, node: ast.Name) -> set[str] | None:
        """List what one use of the namespace sets in it.

        Args:
            node: The use.

        Returns:
            The names; None if that is not known.
        """
        parent = self._parents[node]
        if isinstance(node.ctx, ast.Store):
            return None
        if isinstance(parent, ast.Subscript) and parent.value is node:
            if isinstance(parent.ctx, ast.Load):
                return set()
            return self._spelled(parent.slice)
        if isinstance(parent, ast.Attribute):
            return self._by_method(parent)
        if isinstance(parent, ast.Call):
            function = dotted(parent.func).rpartition(".")[2]
            is_passed_on = _makes_class(parent) or _starts_class(parent)
            return set() if is_passed_on or function in _COPY_OR_READ else None
        if isinstance(parent, (ast.Compare, ast.For, ast.comprehension)):
            return set()
        return None

    def _by_attribute(self, attribute: ast.Attribute) -> set[str] | None:
        """Return what `cls.name` sets; a method of the class may set anything."""
        if isinstance(attribute.ctx, (ast.Store, ast.Del)):
            return {attribute.attr}
        parent = self._parents[attribute]
        is_called = isinstance(parent, ast.Call) and parent.func is attribute
        return None if is_called and attribute.attr != "mro" else set()

    def _by_call(self, call: ast.Call) -> set[str] | None:
        """Return what a call sets on the class that it is passed."""
        function = dotted(call.func).rpartition(".")[2]
        if function in SETTERS and len(call.args) > 1:
            return self._spelled(call.args[1])
        if function in _COPY_OR_READ or _starts_class(call):
            return set()
        return None

    def _by_method(self, attribute: ast.Attribute) -> set[str] | None:
        """Return what `namespace.method(…)` sets."""
        call = self._parents[attribute]
        if not isinstance(call, ast.Call) or call.func is not attribute:
            return None
        if attribute.attr in _READ_NAMESPACE:
            return set()
        if attribute.attr in _WRITE_NAMESPACE and call.args:
            return self._spelled(call.args[0])
        if attribute.attr == "update" and not call.args:
            names = {keyword.arg for keyword in call.keywords if keyword.arg}
            return names if len(names) == len(call.keywords) else None
        return None

    def _spelled(self, node: ast.expr) -> set[str] | None:
        """Return the texts that an expression may be: a literal, or what a loop goes through."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return {node.value}
        stores = [
            self._parents[one]
            for one in ast.walk(self._maker)
            if isinstance(one, ast.Name)
            and one.id == dotted(node)
            and isinstance(one.ctx, ast.Store)
        ]
        found: set[str] = set()
        for loop in stores:
            if not isinstance(loop, ast.For) or not isinstance(
                loop.iter, (ast.Tuple, ast.List)
            ):
                return None
            for element in loop.iter.elts:
                if not isinstance(element, ast.Constant):
                    return None
                found.add(str(element.value))
        return found or None

    def _variables_of_classes(self) -> Iterator[str]:
        """List the variables that a call such as `super().__new__(…)` is assigned to."""
        for node in ast.walk(self._maker):
            if isinstance(node, ast.Assign) and _makes_class(node.value):
                yield from (dotted(target) for target in node.targets)


def _makes_class(node: ast.AST) -> bool:
    """Whether an expression is a call such as `super().__new__(…)` or `type.__new__(…)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "__new__"


def _starts_class(call: ast.Call) -> bool:
    """Whether a call is `super().__init__(…)` or `type.__init__(…)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
