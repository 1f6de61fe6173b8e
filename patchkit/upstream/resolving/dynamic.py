"""
Names that no statement binds: a module's `__getattr__`, and namespaces that are built by code.

A `__getattr__` is followed for the one name that is asked for, with what can be told: tables that
are spelled out, comparisons with the name. Where that does not settle it, nothing is said.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from patchkit.upstream.resolving.bindings import Form
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.literals import NotLiteralError
from patchkit.upstream.resolving.values import Kind, Value, absent, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.upstream.resolving.lookup import Lookup, Values
    from patchkit.upstream.resolving.module_tree import ModuleTree


def from_getattr(lookup: Lookup, tree: ModuleTree, name: str) -> Values | None:
    """Ask a module's `__getattr__`; None where it has none."""
    cases = [case for case in lookup.cases(tree, "__getattr__") if case.binding]
    if not cases:
        return None
    found: list[Value] = []
    for case in cases:
        assert case.binding is not None
        node = case.binding.node
        if case.binding.form is not Form.FUNCTION or not isinstance(node, ast.FunctionDef):
            return (undecidable(f"{tree.name} builds names lazily, by a __getattr__ of another"),)
        found += _Run(lookup, tree, node, name).values()
    return tuple(found)


def replaced_module(lookup: Lookup, tree: ModuleTree, name: str) -> Values | None:
    """Tell what a module that puts something else in its place has; None where it does not."""
    call = tree.noted("replaced", lambda: _replacement(tree.body, tree))
    if call is None:
        return None
    for argument in getattr(call, "args", ()):
        table = _table(lookup, tree, argument)
        for module, names in (table or {}).items():
            if isinstance(names, (list, tuple)) and name in names:
                return lookup.attribute(f"{tree.name}.{module}", name)
            if module == name:
                return (lookup.module(f"{tree.name}.{module}"),)
    return (undecidable(f"{tree.name} puts something else in its place in sys.modules"),)


def open_namespace(tree: ModuleTree) -> str:
    """Say how a module's code may bind names that cannot be read; '' where it does not."""
    text: str = tree.noted("open", lambda: _open(tree))
    return text


def _replacement(body: Sequence[ast.stmt], tree: ModuleTree) -> ast.expr | None:
    if b"sys.modules[" not in tree.source:
        return None
    for one in _at_import(body):
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Subscript):
            target = one.targets[0]
            if dotted(target.value) == "sys.modules" and dotted(target.slice) == "__name__":
                return one.value
    return None


def _table(lookup: Lookup, tree: ModuleTree, argument: ast.expr) -> dict[Any, Any] | None:
    if not isinstance(argument, ast.Name):
        return None
    try:
        table = lookup.literals.of_name(argument.id, tree)
    except NotLiteralError:
        return None
    return table if isinstance(table, dict) else None


def _open(tree: ModuleTree) -> str:
    for one in _at_import(tree.body):
        for node in _expressions(one):
            text = _opens(node)
            if text:
                return f"{tree.name} binds names by code at line {one.lineno}: {text}"
    return ""


def _opens(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        if name in ("exec", "__import__"):
            return f"{name}(…)"
        if isinstance(node.func, ast.Attribute) and _is_namespace(node.func.value):
            return (
                f"{ast.unparse(node.func)}(…)" if node.func.attr in ("update", "setdefault") else ""
            )
        if name == "setattr" and node.args and "sys.modules" in ast.unparse(node.args[0]):
            return "setattr(sys.modules[…], …)"
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        computed = not isinstance(node.slice, ast.Constant)
        if computed and _is_namespace(node.value):
            return f"{ast.unparse(node.value)}[…] = …"
    return ""


def _is_namespace(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in ("globals", "vars", "locals")


def _at_import(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """List the statements that run when the module is imported."""
    for one in body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        yield one
        for field in ("body", "orelse", "finalbody"):
            yield from _at_import(getattr(one, field, ()))
        for handler in getattr(one, "handlers", ()):
            yield from _at_import(handler.body)


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from ast.walk(child)


class _Unknown:
    """A value that following the code does not tell."""


class _Module(NamedTuple):
    name: str


class _Attribute(NamedTuple):
    module: str
    name: str


class _Namespace:
    """What `globals()` returns: it has no name that is looked for here."""


_UNKNOWN = _Unknown()


class _StopError(Exception):
    """An expression fails for this name, with an AttributeError or KeyError."""


class _Run:
    """
    Follows a module's `__getattr__` for one name.

    Args:
        lookup: for tables and for what is imported.
        tree: the module.
        function: its `__getattr__`.
        name: asked for.

    """

    def __init__(
        self, lookup: Lookup, tree: ModuleTree, function: ast.FunctionDef, name: str
    ) -> None:
        self._lookup = lookup
        self._tree = tree
        self._function = function
        self._name = name
        self._where = f"{tree.name}.__getattr__"

    def values(self) -> list[Value]:
        """Tell what it returns or that it raises, on each way that it may go."""
        if not self._function.args.args:
            return [undecidable(f"{self._where} is not read")]
        known: dict[str, Any] = {self._function.args.args[0].arg: self._name}
        outcomes, through = self._body(self._function.body, known)
        if through:
            outcomes.append(
                Value("present", Kind.CONSTANT, self._tree.name, self._name, self._tree, sure=False)
            )
        return outcomes

    def _absent(self) -> Value:
        return absent(f"{self._tree.name} has no {self._name!r}, and its __getattr__ knows none")

    def _body(self, body: Sequence[ast.stmt], known: dict[str, Any]) -> tuple[list[Value], bool]:
        """Follow statements; return what came out, and whether they may run through."""
        outcomes: list[Value] = []
        for one in body:
            try:
                more, through = self._statement(one, known)
            except _StopError:
                return [*outcomes, self._absent()], False
            outcomes += more
            if not through:
                return outcomes, False
        return outcomes, True

    def _statement(self, one: ast.stmt, known: dict[str, Any]) -> tuple[list[Value], bool]:
        if isinstance(one, ast.Return):
            return [self._returned(one, known)], False
        if isinstance(one, ast.Raise):
            return [self._raised(one)], False
        if isinstance(one, ast.If):
            return self._if(one, known)
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            self._import(one, known)
        elif isinstance(one, ast.Assign):
            self._assign(one, known)
        elif isinstance(one, (ast.Try, ast.For, ast.While, ast.With, ast.Match)):
            return [undecidable(f"{self._where} is more than can be followed")], True
        return [], True

    def _raised(self, one: ast.Raise) -> Value:
        raised = one.exc.func if isinstance(one.exc, ast.Call) else one.exc
        if raised is not None and dotted(raised) == "AttributeError":
            return self._absent()
        return undecidable(f"{self._where} raises {dotted(raised) if raised else 'an error'}")

    def _returned(self, one: ast.Return, known: dict[str, Any]) -> Value:
        value = self._value(one.value, known) if one.value else None
        where = f"{self._tree.name}:{self._name}"
        found: Sequence[Value] = ()
        if isinstance(value, _Attribute):
            found = self._lookup.attribute(value.module, value.name)
        elif isinstance(value, _Module):
            found = (self._lookup.module(value.name),)
        if len(found) == 1 and (found[0].state == "present" or found[0].kind is Kind.OUTSIDE):
            lazy = replace(found[0], state="present") if found[0].kind is Kind.OUTSIDE else found[0]
            return lazy.via(where)
        if found and all(each.state == "absent" for each in found):
            return found[0]
        reason = f"{self._where} returns {ast.unparse(one.value) if one.value else None}"
        return Value(
            "present",
            Kind.ASSIGNMENT,
            self._tree.name,
            self._name,
            self._tree,
            (self._function,),
            reason,
            sure=False,
        )

    def _if(self, one: ast.If, known: dict[str, Any]) -> tuple[list[Value], bool]:
        truth = self._truth(one.test, known)
        if truth is not None:
            return self._body(one.body if truth else one.orelse, known)
        then, through_then = self._body(one.body, dict(known))
        other, through_other = self._body(one.orelse, dict(known))
        for key in _assigned_in(one):
            known[key] = _UNKNOWN
        return [*then, *other], through_then or through_other

    def _truth(self, test: ast.expr, known: dict[str, Any]) -> bool | None:
        value = self._value(test, known)
        if isinstance(value, (_Unknown, _Module, _Attribute, ast.AST)):
            return None
        return bool(value)

    def _import(self, one: ast.Import | ast.ImportFrom, known: dict[str, Any]) -> None:
        for alias in one.names:
            bound = alias.asname or alias.name.split(".")[0]
            if isinstance(one, ast.Import):
                known[bound] = _Module(alias.name if alias.asname else bound)
                continue
            module = self._tree.absolute(one.module, one.level)
            if module is None:
                known[bound] = _UNKNOWN
            elif f"{module}.{alias.name}" in self._lookup.modules:
                known[bound] = _Module(f"{module}.{alias.name}")
            else:
                known[bound] = _Attribute(module, alias.name)

    def _assign(self, one: ast.Assign, known: dict[str, Any]) -> None:
        value = self._value(one.value, known)
        for target in one.targets:
            if isinstance(target, ast.Name):
                known[target.id] = value
            elif isinstance(target, ast.Tuple):
                many = value if isinstance(value, (list, tuple)) else [_UNKNOWN] * len(target.elts)
                if len(many) != len(target.elts):
                    many = [_UNKNOWN] * len(target.elts)
                for name, part in zip(target.elts, many, strict=True):
                    if isinstance(name, ast.Name):
                        known[name.id] = part

    # --- expressions

    def _value(self, node: ast.expr, known: dict[str, Any]) -> Any:
        if isinstance(node, ast.Name) and node.id in known:
            return known[node.id]
        work = self._WORK.get(type(node))
        if work is not None:
            return work(self, node, known)
        try:
            return self._lookup.literals.value(node, self._tree)
        except NotLiteralError:
            return _UNKNOWN

    def _not(self, node: ast.UnaryOp, known: dict[str, Any]) -> Any:
        truth = self._truth(node.operand, known) if isinstance(node.op, ast.Not) else None
        return _UNKNOWN if truth is None else not truth

    def _bool_op(self, node: ast.BoolOp, known: dict[str, Any]) -> Any:
        ends = isinstance(node.op, ast.Or)
        truths = [self._truth(one, known) for one in node.values]
        if ends in truths:
            return ends
        return _UNKNOWN if None in truths else not ends

    def _compare(self, node: ast.Compare, known: dict[str, Any]) -> Any:
        if len(node.ops) != 1:
            return _UNKNOWN
        operator = node.ops[0]
        left = self._value(node.left, known)
        if isinstance(operator, (ast.In, ast.NotIn)):
            inside = self._contains(node.comparators[0], left, known)
            return _UNKNOWN if inside is None else inside is isinstance(operator, ast.In)
        right = self._value(node.comparators[0], known)
        if isinstance(left, _Unknown) or isinstance(right, _Unknown):
            return _UNKNOWN
        equal = left is None if right is None else left == right
        if isinstance(operator, (ast.Eq, ast.Is)):
            return equal
        return not equal if isinstance(operator, (ast.NotEq, ast.IsNot)) else _UNKNOWN

    def _contains(self, node: ast.expr, item: Any, known: dict[str, Any]) -> bool | None:
        table = self._value(node, known)
        if isinstance(table, _Namespace):
            return False if item == self._name else None
        if isinstance(table, (dict, list, tuple, str)) and isinstance(item, str):
            return item in table
        if isinstance(node, ast.Name) and node.id not in known:
            return self._in_global(node.id, item)
        return None

    def _in_global(self, name: str, item: Any) -> bool | None:
        cases = self._lookup.cases(self._tree, name)
        if len(cases) == 1 and cases[0].binding is not None:
            return self._lookup.literals.membership(cases[0].binding, self._tree, item)
        return None

    def _item(self, node: ast.Subscript, known: dict[str, Any]) -> Any:
        table, key = self._value(node.value, known), self._value(node.slice, known)
        if isinstance(table, _Namespace):
            raise _StopError
        if isinstance(table, (dict, list, tuple)) and isinstance(key, (str, int)):
            try:
                return table[key]  # type: ignore[index]
            except (LookupError, TypeError) as error:
                raise _StopError from error
        return _UNKNOWN

    def _attribute(self, node: ast.Attribute, known: dict[str, Any]) -> Any:
        base = self._value(node.value, known)
        if isinstance(base, _Module):
            return _Attribute(base.name, node.attr)
        return _UNKNOWN

    def _joined(self, node: ast.JoinedStr, known: dict[str, Any]) -> Any:
        parts: list[str] = []
        for one in node.values:
            value = self._value(one.value if isinstance(one, ast.FormattedValue) else one, known)
            if not isinstance(value, str):
                return _UNKNOWN
            parts.append(value)
        return "".join(parts)

    def _add(self, node: ast.BinOp, known: dict[str, Any]) -> Any:
        left, right = self._value(node.left, known), self._value(node.right, known)
        if isinstance(left, str) and isinstance(right, str) and isinstance(node.op, ast.Add):
            return left + right
        return _UNKNOWN

    def _call(self, node: ast.Call, known: dict[str, Any]) -> Any:
        name = dotted(node.func)
        arguments = [self._value(one, known) for one in node.args]
        if name == "globals":
            return _Namespace()
        if name.split(".")[-1] == "import_module":
            return self._import_module(arguments)
        if name == "getattr" and len(arguments) >= 2 and isinstance(arguments[1], str):
            base = arguments[0]
            return _Attribute(base.name, arguments[1]) if isinstance(base, _Module) else _UNKNOWN
        if isinstance(node.func, ast.Attribute) and not node.keywords:
            return self._method(self._value(node.func.value, known), node.func.attr, arguments)
        return _UNKNOWN

    def _import_module(self, arguments: list[Any]) -> Any:
        if not arguments or not isinstance(arguments[0], str):
            return _UNKNOWN
        text = arguments[0]
        level = len(text) - len(text.lstrip("."))
        module = self._tree.absolute(text[level:] or None, level)
        return _Module(module) if module else _UNKNOWN

    def _method(self, base: Any, name: str, arguments: list[Any]) -> Any:
        if isinstance(base, dict) and name == "get" and arguments:
            default = arguments[1] if len(arguments) > 1 else None
            return base.get(arguments[0], default) if isinstance(arguments[0], str) else _UNKNOWN
        plain = all(isinstance(one, (str, int)) for one in arguments)
        if isinstance(base, str) and plain and name in _TEXT:
            try:
                return getattr(base, name)(*arguments)
            except (TypeError, ValueError):
                return _UNKNOWN
        return _UNKNOWN

    _WORK: ClassVar[dict[type, Any]] = {
        ast.UnaryOp: _not,
        ast.BoolOp: _bool_op,
        ast.Compare: _compare,
        ast.Subscript: _item,
        ast.Attribute: _attribute,
        ast.JoinedStr: _joined,
        ast.BinOp: _add,
        ast.Call: _call,
    }


_TEXT = {
    *("split", "rsplit", "partition", "rpartition", "startswith", "endswith", "lower", "upper"),
    *("removeprefix", "removesuffix", "replace", "strip", "lstrip"),
}


def _assigned_in(node: ast.AST) -> set[str]:
    imported = {
        alias.asname or alias.name.split(".")[0]
        for one in ast.walk(node)
        if isinstance(one, (ast.Import, ast.ImportFrom))
        for alias in one.names
    }
    return imported | {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
