"""Reads which attributes the `__new__` and `__init__` of a metaclass set on classes."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.function_code import SETTERS
from patchkit.analysis.upstream.resolving.signature_settings import signatures_set
from patchkit.analysis.upstream.resolving.syntax import (
    SCOPES,
    Def,
    child_nodes,
    dotted,
    walk,
)
from patchkit.analysis.upstream.resolving.touches import (
    HARMLESS,
    HARMLESS_METHODS,
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


class PassingCall(NamedTuple):
    """A call that is passed a class.

    Args:
        call: The call.
        position: Which of its positional arguments the class is.
        is_statement: Whether nothing is done with what it returns.
    """

    call: ast.Call
    position: int
    is_statement: bool


class MetaclassSettings(NamedTuple):
    """What a metaclass sets on the classes that it makes.

    Args:
        names: The attributes that it sets, replaces or removes.
        is_open: Whether it may do so with others, too.
        removed: Those of the names that it may remove.
        passing: The calls that are passed the class, which are not followed.
        returns_class: Whether the class is returned to the caller.
    """

    names: frozenset[str]
    is_open: bool = False
    removed: frozenset[str] = frozenset()
    passing: tuple[PassingCall, ...] = ()
    returns_class: bool = False


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
    return _settings_read(reader, maker)


def settings_by_parameter(function: Def, position: int) -> MetaclassSettings:
    """Read what a function sets on a class that it is passed.

    Args:
        function: The function.
        position: Which of its positional parameters the class is.

    Returns:
        The attributes; `OPEN` as from `settings_of`, and if there is no such parameter.
    """
    parameters = [*function.args.posonlyargs, *function.args.args]
    if position >= len(parameters):
        return OPEN
    reader = _MakerReader(function)
    reader.namespace = ""
    reader.bases = ""
    reader.classes = {parameters[position].arg}
    return _settings_read(reader, function)


def _settings_read(reader: "_MakerReader", function: Def) -> MetaclassSettings:
    """Collect what each use of the class, and of its namespace, sets."""
    names: set[str] = set()
    for node in walk(function):
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
    names |= signatures_set(walk(function), reader.classes)
    return MetaclassSettings(
        frozenset(names),
        removed=frozenset(reader.removed),
        passing=tuple(reader.passing),
        returns_class=reader.returns_class,
    )


class _MakerReader:
    """Follows the class and its namespace through one method of a metaclass.

    Args:
        maker: The method: `__new__(mcs, name, bases, namespace)`, or `__init__` with the class in
            the place of `mcs`.

    Attributes:
        namespace: The parameter for the namespace; '' if the method has none.
        bases: The parameter for the bases; '' if the method has none.
        classes: The variables that hold the class.
        removed: The attributes that it may remove, as far as it was read.
        passing: The calls that are passed the class, as far as it was read.
        returns_class: Whether the class is returned, as far as it was read.
    """

    def __init__(self, maker: Def) -> None:
        self._maker = maker
        parameters = [one.arg for one in (*maker.args.posonlyargs, *maker.args.args)]
        padded = [*parameters, "", "", "", ""]
        self.bases = padded[2]
        self.namespace = padded[3]
        self._is_new = maker.name == "__new__"
        self._parents: dict[ast.AST, ast.AST] = {}
        for parent in walk(maker):
            for child in child_nodes(parent):
                self._parents[child] = parent
        self.classes: set[str] = set()
        self.removed: set[str] = set()
        self.passing: list[PassingCall] = []
        self.returns_class = False
        if self._is_new:
            self.classes.update(self._variables_of_classes())
        elif parameters:
            self.classes.add(parameters[0])

    def is_plain(self) -> bool:
        """Whether the class that it makes has the bases and the namespace that it is passed."""
        if not self._is_new:
            return True
        calls = [node for node in walk(self._maker) if _makes_class(node)]
        returned = [
            node.value for node in walk(self._maker) if isinstance(node, ast.Return)
        ]
        if not calls or not returned or not self.namespace:
            return False
        passed = [self.bases, self.namespace]
        for call in calls:
            assert isinstance(call, ast.Call)
            if [dotted(argument) for argument in call.args[2:4]] != passed:
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
            return self._by_call(parent, node)
        if isinstance(parent, ast.Return):
            self.returns_class = True
            return set()
        if isinstance(parent, ast.Assign):  # kept in a container, such as a registry
            is_kept = all(isinstance(one, ast.Subscript) for one in parent.targets)
            return set() if is_kept else None
        if isinstance(parent, (ast.Compare, ast.FormattedValue)):
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
            names = self._spelled(parent.slice)
            if isinstance(parent.ctx, ast.Del):
                self.removed |= names or set()
            return names
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
        if isinstance(attribute.ctx, ast.Del):
            self.removed.add(attribute.attr)
        if isinstance(attribute.ctx, (ast.Store, ast.Del)):
            return {attribute.attr}
        parent = self._parents[attribute]
        is_called = isinstance(parent, ast.Call) and parent.func is attribute
        return None if is_called and attribute.attr != "mro" else set()

    def _by_call(self, call: ast.Call, node: ast.Name) -> set[str] | None:
        """Return what a call sets on the class that it is passed; note one that is to follow."""
        function = dotted(call.func).rpartition(".")[2]
        if function in SETTERS and len(call.args) > 1:
            names = self._spelled(call.args[1])
            if "delattr" in function:
                self.removed |= names or set()
            return names
        if function in _COPY_OR_READ or _starts_class(call):
            return set()
        return self._by_passing(call, node)

    def _by_passing(self, call: ast.Call, node: ast.Name) -> set[str] | None:
        """Note a call that is passed the class by its position; None if it cannot be followed."""
        is_spread = any(isinstance(argument, ast.Starred) for argument in call.args)
        first = dotted(call.func).partition(".")[0]
        if node not in call.args or is_spread or not first or self._binds(first):
            return None
        is_statement = isinstance(self._parents[call], ast.Expr)
        self.passing.append(
            PassingCall(call, call.args.index(node), is_statement=is_statement)
        )
        return set()

    def _binds(self, name: str) -> bool:
        """Whether the method itself binds a name, as a parameter or in any other way."""
        for node in self._parents:
            if isinstance(node, ast.Name) and node.id == name:
                if not isinstance(node.ctx, ast.Load):
                    return True
            elif isinstance(node, (ast.arg, ast.alias, *SCOPES)):
                own_name = getattr(node, "arg", "") or getattr(node, "name", "")
                if name in (own_name, getattr(node, "asname", "")):
                    return True
        return False

    def _by_method(self, attribute: ast.Attribute) -> set[str] | None:
        """Return what `namespace.method(…)` sets."""
        call = self._parents[attribute]
        if not isinstance(call, ast.Call) or call.func is not attribute:
            return None
        if attribute.attr in _READ_NAMESPACE:
            return set()
        if attribute.attr in _WRITE_NAMESPACE and call.args:
            names = self._spelled(call.args[0])
            if attribute.attr == "pop":
                self.removed |= names or set()
            return names
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
            for one in walk(self._maker)
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
        for node in walk(self._maker):
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
