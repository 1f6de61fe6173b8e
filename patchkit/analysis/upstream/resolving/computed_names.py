"""Tells what the names may be that a function computes, as `setattr(cls, f"is_{fact}", …)` does."""

import ast
import re
from collections.abc import Sequence

from patchkit.analysis.upstream.resolving.called import function_named
from patchkit.analysis.upstream.resolving.literals import literal_container
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES, Def, dotted, walk
from patchkit.analysis.upstream.resolving.values import Kind, Lookup, Scope

_ANY = ".*"
_PLACEHOLDER = re.compile(r"%[-#0 +]*\d*[a-z]|\{[^{}]*\}")
"""What stands in a text for what is put in: `%s`, `%02d`, `{}`, `{name}`."""
_DEPTH = 2
"""How deep functions are followed that return a name."""
_MOST = 100
"""How many texts of a list are told one by one."""


class _Names:
    """Follows the names that the code of one function computes.

    Args:
        lookup: The release.
        tree: The module of the function.
        function: The function.
        depth: How many functions led to it.
    """

    def __init__(
        self, lookup: Lookup, tree: ModuleTree, function: Def, depth: int
    ) -> None:
        self._lookup = lookup
        self._tree = tree
        self._function = function
        self._depth = depth
        self._bindings = tree.remember_with_file(
            ("bound in function", id(function)), lambda: _bindings_of(function)
        )
        self._pending: set[str] = set()

    def pattern(self, node: ast.expr) -> str:
        """Return the pattern of the texts that an expression may come to."""
        if isinstance(node, ast.Constant):
            return re.escape(node.value) if isinstance(node.value, str) else _ANY
        if isinstance(node, ast.JoinedStr):
            return "".join(self.pattern(part) for part in node.values)
        if isinstance(node, ast.IfExp):
            return _either([self.pattern(node.body), self.pattern(node.orelse)])
        if isinstance(node, ast.BinOp):
            return self._of_operator(node)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Name):
            return self._of_name(node)
        return _ANY

    def _of_operator(self, node: ast.BinOp) -> str:
        """Return the pattern of `a + b`, and of `"is_%s" % a`."""
        if isinstance(node.op, ast.Add):
            return self.pattern(node.left) + self.pattern(node.right)
        if isinstance(node.op, ast.Mod):
            return _of_template(node.left)
        return _ANY

    def _of_call(self, node: ast.Call) -> str:
        """Return the pattern of `"is_{}".format(a)`, and of a function of the same module."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return _of_template(node.func.value)
        if not isinstance(node.func, ast.Name) or node.func.id in self._bindings:
            return _ANY
        function = function_named(self._lookup, self._tree, node.func.id)
        if function is None or function.decorator_list or self._depth >= _DEPTH:
            return _ANY
        returned = [part for part in walk(function) if isinstance(part, ast.Return)]
        names = _Names(self._lookup, self._tree, function, self._depth + 1)
        patterns = [
            names.pattern(part.value) if part.value is not None else _ANY
            for part in returned
        ]
        return _either(patterns)

    def _of_name(self, node: ast.Name) -> str:
        """Return the pattern of a variable, or of a constant of the module."""
        if node.id in self._pending:
            return _ANY
        if node.id not in self._bindings:
            values = self._lookup.evaluate(node, Scope(self._tree))
            texts = [getattr(value.expression, "value", None) for value in values]
            return _either(
                [re.escape(text) if isinstance(text, str) else _ANY for text in texts]
            )
        self._pending.add(node.id)
        patterns: list[str] = []
        for binding in self._bindings[node.id]:
            if isinstance(binding, ast.Assign):
                patterns.append(self.pattern(binding.value))
            elif isinstance(binding, (ast.For, ast.comprehension)):
                patterns.append(self._of_elements(binding.iter))
            else:
                patterns.append(_ANY)
        self._pending.discard(node.id)
        return _either(patterns)

    def _of_elements(self, node: ast.expr) -> str:
        """Return the pattern of what a loop goes through, if that is spelled out."""
        elements: Sequence[ast.expr] = ()
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            elements = node.elts
        elif isinstance(node, ast.Name) and node.id not in self._bindings:
            values = self._lookup.evaluate(node, Scope(self._tree))
            container = literal_container(values[0]) if len(values) == 1 else None
            # A list may be extended by other modules, a tuple is what it is.
            is_tuple = isinstance(values[0].expression, ast.Tuple)
            if container is not None and is_tuple and not container.extended_by:
                elements = list(container.items.values())
        if len(elements) > _MOST:
            return _ANY
        return _either(
            [
                self.pattern(one) if isinstance(one, ast.Constant) else _ANY
                for one in elements
            ]
        )


def name_pattern(
    lookup: Lookup, tree: ModuleTree, function: Def, node: ast.expr
) -> str:
    """Return a pattern that each name matches which an expression of a function may come to.

    Args:
        lookup: The release.
        tree: The module of the function.
        function: The function, with the functions inside it.
        node: The expression, such as the second argument of `setattr`.

    Returns:
        The pattern, to be matched as a whole; '' if the name may be any.
    """
    pattern = _Names(lookup, tree, function, 0).pattern(node)
    has_text = re.search(r"\w", pattern)
    return pattern if has_text else ""


def reason_to_set(patterns: Sequence[tuple[str, str]], name: str) -> str:
    """Say what may set an attribute, of what computes names.

    Args:
        patterns: What these names match, each with the words for what computes them.
        name: The name of the attribute.

    Returns:
        The words for the report; '' if nothing may.
    """
    for pattern, reason in patterns:
        if re.fullmatch(pattern, name):
            return reason
    return ""


def sets_on_new_object(
    lookup: Lookup, tree: ModuleTree, function: Def, call: ast.Call
) -> bool:
    """Whether a call of `setattr` sets on an instance that the function has made.

    Args:
        lookup: The release.
        tree: The module of the function.
        function: The function.
        call: The call: `setattr(made, name, …)` below `made = C()`.
    """
    made = dotted(call.args[0]) if call.args else ""
    bindings = tree.remember_with_file(
        ("bound in function", id(function)), lambda: _bindings_of(function)
    )
    bound = bindings.get(made, [])
    value = getattr(bound[0], "value", None) if len(bound) == 1 else None
    if not isinstance(value, ast.Call):
        return False
    classes = lookup.evaluate(value.func, Scope(tree))
    return bool(classes) and all(
        one.kind is Kind.CLASS and one.has_class_statement for one in classes
    )


def names_own_attribute(tree: ModuleTree, function: Def, call: ast.Call) -> bool:
    """Whether a call of `setattr` replaces what the class itself has, and adds no name to it.

    Args:
        tree: The module of the function.
        function: The function.
        call: The call: `setattr(cls, name, …)` in a loop such as `for name in vars(cls)`.
    """
    name = dotted(call.args[1]) if len(call.args) > 1 else ""
    owner = dotted(call.args[0]) if name else ""
    bindings = tree.remember_with_file(
        ("loops in function", id(function)), lambda: _loops_of(function)
    )
    texts = bindings.get(name, [""])
    return bool(owner) and all(
        text in (f"{owner}.__dict__", f"vars({owner})") for text in texts
    )


def _loops_of(function: Def) -> dict[str, list[str]]:
    """Return the namespaces whose names each variable goes through; '' where it is bound else."""
    loops: dict[str, list[str]] = {}
    in_loops: set[ast.AST] = set()
    for node in walk(function):
        if isinstance(node, (ast.For, ast.comprehension)):
            target = node.target
            if isinstance(target, ast.Tuple) and target.elts:
                target = target.elts[0]
            if isinstance(target, ast.Name):
                in_loops.add(target)
                loops.setdefault(target.id, []).append(_namespace(node.iter))
    for node in walk(function):
        if node is not function and node not in in_loops:
            for name in _names_bound(node):
                loops.setdefault(name, []).append("")
    return loops


def _namespace(node: ast.expr) -> str:
    """Return "cls.__dict__" for `list(cls.__dict__.items())`, any other expression as text."""
    text = ast.unparse(node)
    for copying in ("list", "tuple", "dict", "sorted"):
        if text.startswith(f"{copying}("):
            text = text.removeprefix(f"{copying}(").removesuffix(")")
    for method in (".items()", ".keys()", ".copy()"):
        text = text.removesuffix(method)
    return text


def _of_template(node: ast.expr) -> str:
    """Return the pattern of a text with placeholders."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return _ANY
    parts = _PLACEHOLDER.split(node.value)
    return _ANY.join(map(re.escape, parts))


def _either(patterns: Sequence[str]) -> str:
    """Return the pattern of what matches one of several; any text if there is none."""
    different = list(dict.fromkeys(patterns))
    if not different or _ANY in different:
        return _ANY
    if len(different) == 1:
        return different[0]
    return f"(?:{'|'.join(different)})"


def _bindings_of(function: Def) -> dict[str, list[ast.AST | None]]:
    """Return what binds each name in a function; None for what is not followed."""
    bindings: dict[str, list[ast.AST | None]] = {}
    followed: set[ast.AST] = set()
    for node in walk(function):
        for target in _targets(node):
            if isinstance(target, ast.Name):
                followed.add(target)
                bindings.setdefault(target.id, []).append(node)
    for node in walk(function):
        if node is not function and node not in followed:
            for name in _names_bound(node):
                bindings.setdefault(name, []).append(None)
    return bindings


def _targets(node: ast.AST) -> list[ast.expr]:
    """Return what an assignment or a loop binds, as far as these are followed."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.target]
    return []


def _names_bound(node: ast.AST) -> list[str]:
    """Return the names that a part of a function binds in any way."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, (*SCOPES, ast.ExceptHandler, ast.MatchAs)):
        return [node.name or ""]
    if isinstance(node, ast.alias):
        return [node.asname or node.name]
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    return []
