"""Reads what the code of a module does with its own namespace: `globals()["x"] = …`, `exec`."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.namespace_words import may_reach
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    child_nodes,
    dotted,
    spelled_keys,
)

_NAMESPACES = frozenset({"globals", "locals", "vars"})
_READING = frozenset(
    {"copy", "get", "items", "keys", "values", "__contains__", "__getitem__"}
)
"""Methods of a namespace that leave it as it is."""
_SETTING = frozenset({"setdefault", "__setitem__"})
_DELETING = frozenset({"pop", "__delitem__"})
"""Methods of a namespace that set, and that delete, the name that they are passed first."""
_HARMLESS = frozenset(
    {
        "__import__",
        "bool",
        "cast",
        "dict",
        "dir",
        "eval",
        "getattr",
        "getdoc",
        "getmembers",
        "getsource",
        "hasattr",
        "id",
        "isinstance",
        "iter",
        "len",
        "list",
        "print",
        "repr",
        "set",
        "sorted",
        "str",
        "tuple",
        "type",
        "vars",
    }
)
"""Functions that read a namespace, or a module, and change nothing in it."""
_EXECUTING = frozenset({"exec", "builtins.exec", "exec_", "six.exec_"})
"""What runs a text as code of the module; the last two are of `six`, and copies of it."""
_EXPORTING = frozenset({"global_enum", "_convert_"})
"""What puts the members of an enum into the namespace of a module."""


class NamespaceChange(NamedTuple):
    """One place in the code of a module that changes the module's names.

    Args:
        line: The line.
        names: The names that it sets or deletes; None if it may be any name.
        deletes: Whether it deletes them.
        adds_only: Whether it leaves alone what a statement binds.
        is_late: Whether it stands in a function, so that it may run at any time.
        call: The call that is passed the namespace, if one is.
    """

    line: int
    names: frozenset[str] | None
    deletes: bool = False
    adds_only: bool = False
    is_late: bool = False
    call: ast.Call | None = None


def namespace_changes(tree: ModuleTree) -> list[NamespaceChange]:
    """List where the code of a module changes its names by other means than plain statements.

    Args:
        tree: The module.

    Returns:
        The places in the order of their lines.
    """
    return tree.remember_with_file("namespace", lambda: _changes(tree))


def _changes(tree: ModuleTree) -> list[NamespaceChange]:
    """Read a module; see `namespace_changes`, which remembers it."""
    if not may_reach(tree.source):
        return []
    reader = _NamespaceReader(tree.name)
    reader.read(tree.tree)
    return sorted(reader.changes(), key=lambda change: change.line)


@dataclass
class _NamespaceReader:
    """Follows the namespace of a module through the expressions of its code.

    Args:
        module: The name of the module.
        parents: The node around each node.
        places: The scopes around each node that may be of interest.
        aliases: Names that stand for the namespace.
        modules: Names that stand for the module.
        nodes: All expressions.
    """

    module: str
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    places: dict[ast.AST, tuple[ast.AST, ...]] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    nodes: list[ast.expr] = field(default_factory=list)

    def read(self, tree: ast.Module) -> None:
        """Collect the expressions of a module, and the names that its namespace is assigned to."""
        pending: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
        while pending:
            node, scopes = pending.pop()
            if isinstance(node, ast.expr):
                self.nodes.append(node)
                self.places[node] = scopes
            if isinstance(node, (*SCOPES, ast.Lambda)):
                scopes = (*scopes, node)
            for child in child_nodes(node):
                # No constant is a namespace, and a lazy package's `__init__` has thousands.
                if not isinstance(child, ast.Constant):
                    self.parents[child] = node
                    pending.append((child, scopes))
        self._read_aliases()

    def _read_aliases(self) -> None:
        """Find the names that the namespace, or the module, is assigned to."""
        known = -1
        while known != len(self.aliases) + len(self.modules):
            known = len(self.aliases) + len(self.modules)
            for node in self.nodes:
                names = self._assigned_names(node)
                if names and self._is_namespace(node):
                    self.aliases |= names
                elif names and self._is_module(node):
                    self.modules |= names

    def _assigned_names(self, node: ast.expr) -> set[str]:
        """Return the plain names that an expression is assigned to."""
        parent = self.parents[node]
        targets: list[ast.expr] = []
        if isinstance(parent, ast.Assign) and parent.value is node:
            targets = parent.targets
        elif (
            isinstance(parent, (ast.AnnAssign, ast.NamedExpr)) and parent.value is node
        ):
            targets = [parent.target]
        return {target.id for target in targets if isinstance(target, ast.Name)}

    def _is_namespace(self, node: ast.AST) -> bool:
        """Whether an expression is the namespace: `globals()`, `vars(sys.modules[__name__])`."""
        if isinstance(node, ast.Name):
            is_read = isinstance(node.ctx, ast.Load)
            # `names |= …` changes the object that the name stands for.
            is_added_to = isinstance(self.parents[node], ast.AugAssign)
            return node.id in self.aliases and (is_read or is_added_to)
        if isinstance(node, ast.Attribute):
            return node.attr == "__dict__" and self._is_module(node.value)
        if not isinstance(node, ast.Call):
            return False
        function = dotted(node.func).rpartition(".")[2]
        if function not in _NAMESPACES:
            return False
        if node.args:
            return function == "vars" and self._is_module(node.args[0])
        # In a function, or in the body of a class, `locals()` are other names.
        return function == "globals" or not self.places.get(node)

    def _is_module(self, node: ast.AST) -> bool:
        """Whether an expression is the module itself: `sys.modules[__name__]`."""
        if isinstance(node, ast.Name):
            return node.id in self.modules and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Subscript):
            is_table = dotted(node.value).rpartition(".")[2] == "modules"
            is_read = isinstance(node.ctx, ast.Load)
            return is_table and is_read and self._is_own_name(node.slice)
        if isinstance(node, ast.Call) and len(node.args) == 1:
            function = dotted(node.func).rpartition(".")[2]
            is_import = function in ("import_module", "__import__")
            return is_import and self._is_own_name(node.args[0])
        return False

    def _is_own_name(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Constant):
            return bool(node.value == self.module)
        return dotted(node) == "__name__"

    def changes(self) -> Iterator[NamespaceChange]:
        """List the changes that the expressions make."""
        for node in self.nodes:
            change = None
            if self._is_namespace(node):
                change = self._by_namespace(node)
            elif self._is_module(node):
                change = self._by_module(node)
            elif isinstance(node, ast.Call):
                for bound_or_deleted in self._by_exec(node):
                    yield self._at_its_time(bound_or_deleted, self.places[node])
            elif dotted(node).rpartition(".")[2] in _EXPORTING:
                change = NamespaceChange(node.lineno, None, adds_only=True)
            if change is not None:
                yield self._at_its_time(change, self.places[node])

    def _at_its_time(
        self, change: NamespaceChange, scopes: tuple[ast.AST, ...]
    ) -> NamespaceChange:
        """Return a change with whether it stands in a function.

        One of computed names only adds names if no statement of the module calls the function.
        """
        functions = [
            scope for scope in scopes if isinstance(scope, (*DEFS, ast.Lambda))
        ]
        if not functions:
            return change
        name = getattr(functions[0], "name", "")
        is_called = not name or name in self._called_at_import()
        adds_only = change.adds_only or (change.names is None and not is_called)
        return change._replace(is_late=True, adds_only=adds_only)

    def _called_at_import(self) -> set[str]:
        """List the plain names in code outside functions, which may call what they stand for."""
        names: set[str] = set()
        for node in self.nodes:
            is_late = any(isinstance(scope, DEFS) for scope in self.places[node])
            if isinstance(node, ast.Name) and not is_late:
                names.add(node.id)
        return names

    def _by_namespace(self, node: ast.expr) -> NamespaceChange | None:
        """Return what one use of the namespace changes; None for a use that reads."""
        parent = self.parents[node]
        line = node.lineno
        if isinstance(parent, ast.Subscript) and parent.value is node:
            if isinstance(parent.ctx, ast.Load):
                return None
            is_deleted = isinstance(parent.ctx, ast.Del)
            return NamespaceChange(
                line, self._spelled(parent.slice), deletes=is_deleted
            )
        if isinstance(parent, ast.Attribute):
            return self._by_method(parent)
        if isinstance(parent, ast.AugAssign) and parent.target is node:
            return NamespaceChange(line, spelled_keys(parent.value))
        if isinstance(parent, ast.Call):
            return self._by_call(parent, node)
        if isinstance(parent, ast.keyword):
            if parent.arg is None:
                return None  # `**globals()` is a copy
            call = self.parents[parent]
            assert isinstance(call, ast.Call)
            return self._by_call(call, node)
        is_read = isinstance(
            parent, (ast.Compare, ast.For, ast.comprehension, ast.Expr, ast.Dict)
        )
        if is_read or self._assigned_names(node):
            return None
        return NamespaceChange(line, None)

    def _by_method(self, attribute: ast.Attribute) -> NamespaceChange | None:
        """Return what `globals().method(…)` changes."""
        call = self.parents[attribute]
        line = attribute.lineno
        if attribute.attr in _READING:
            return None
        if not isinstance(call, ast.Call) or call.func is not attribute:
            return NamespaceChange(line, None)
        if attribute.attr in _SETTING and call.args:
            return NamespaceChange(line, self._spelled(call.args[0]))
        if attribute.attr in _DELETING and call.args:
            return NamespaceChange(line, self._spelled(call.args[0]), deletes=True)
        if attribute.attr == "update":
            return NamespaceChange(line, _updated(call))
        return NamespaceChange(line, None, deletes=attribute.attr == "clear")

    def _by_module(self, node: ast.expr) -> NamespaceChange | None:
        """Return what one use of the module itself changes."""
        parent = self.parents[node]
        line = node.lineno
        if isinstance(parent, ast.Attribute):
            if isinstance(parent.ctx, ast.Load):
                return None
            if parent.attr == "__class__":  # the class may have any attributes
                return NamespaceChange(line, None, adds_only=True)
            is_deleted = isinstance(parent.ctx, ast.Del)
            return NamespaceChange(line, frozenset({parent.attr}), deletes=is_deleted)
        if isinstance(parent, ast.Call):
            return self._by_call(parent, node)
        is_read = isinstance(parent, (ast.Compare, ast.Expr))
        if is_read or self._assigned_names(node):
            return None
        return NamespaceChange(line, None)

    def _by_call(self, call: ast.Call, node: ast.expr) -> NamespaceChange | None:
        """Return what a call changes that is passed the namespace, or the module."""
        function = dotted(call.func).rpartition(".")[2]
        if function in _HARMLESS or (function == "exec" and call.args[:1] != [node]):
            return None  # what `exec` binds is read from its own call
        is_deleted = function == "delattr"
        if function in ("setattr", "delattr") and len(call.args) > 1:
            return NamespaceChange(
                node.lineno, self._spelled(call.args[1]), deletes=is_deleted
            )
        return NamespaceChange(node.lineno, None, call=call)

    def _by_exec(self, call: ast.Call) -> Iterator[NamespaceChange]:
        """Yield what `exec(code)` may bind or delete; nothing for another call or namespace."""
        if dotted(call.func) not in _EXECUTING or not call.args:
            return
        scopes = self.places[call]
        in_function = any(isinstance(scope, DEFS) for scope in scopes)
        if len(call.args) > 1:
            if not self._is_namespace(call.args[1]):
                return
        elif scopes and not in_function:
            return  # it binds names of the class around it
        code = call.args[0]
        if not isinstance(code, ast.Constant) or not isinstance(code.value, str):
            yield NamespaceChange(call.lineno, None)
            return
        names = frozenset(re.findall(r"\w+", code.value))
        yield NamespaceChange(call.lineno, names)
        if "del" in names:
            yield NamespaceChange(call.lineno, names, deletes=True)

    def _spelled(self, node: ast.expr) -> frozenset[str] | None:
        """Return the names that an expression may be: a text, or what a loop goes through."""
        if isinstance(node, ast.Constant):
            return frozenset({str(node.value)})
        if not isinstance(node, ast.Name):
            return None
        found: set[str] = set()
        for other in self.nodes:
            if not isinstance(other, ast.Name) or other.id != node.id:
                continue
            if isinstance(other.ctx, ast.Load):
                continue
            loop = self.parents[other]
            values = getattr(loop, "iter", None)
            if not isinstance(values, (ast.Tuple, ast.List, ast.Set)):
                return None
            for element in values.elts:
                if not isinstance(element, ast.Constant):
                    return None
                found.add(str(element.value))
        return frozenset(found) or None


def _updated(call: ast.Call) -> frozenset[str] | None:
    """Return the names in `update(x=…)` or `update({"x": …})`; None if they are computed."""
    names: set[str] = set()
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        names.add(keyword.arg)
    for argument in call.args:
        keys = spelled_keys(argument)
        if keys is None:
            return None
        names |= keys
    return frozenset(names)
