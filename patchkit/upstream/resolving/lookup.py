"""From names and expressions to what they stand for, across modules."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from patchkit.upstream.resolving import decorators, dynamic, factories, inheritance, signature
from patchkit.upstream.resolving.at_import import called_at_import
from patchkit.upstream.resolving.bindings import UNBOUND, Binding, Case, Cases, Flow, Form
from patchkit.upstream.resolving.conditions import Platform, dotted
from patchkit.upstream.resolving.flags import Flags
from patchkit.upstream.resolving.literals import Literals
from patchkit.upstream.resolving.outside import is_builtin, standard_class
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import (
    AS_METHOD,
    FUNCTIONS,
    METHODS,
    Kind,
    Value,
    absent,
    undecidable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from patchkit.upstream.resolving.module_tree import Modules, ModuleTree

T = TypeVar("T")
Values = tuple[Value, ...]

_PLAIN = (
    *(ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr, ast.BinOp),
    *(ast.Compare, ast.UnaryOp, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp),
)
_IMPLICIT = frozenset(
    [
        "__name__",
        "__file__",
        "__doc__",
        "__package__",
        "__spec__",
        "__loader__",
        "__path__",
        "__builtins__",
        "__dict__",
        "__cached__",
        "__annotations__",
        "__class__",
    ]
)
_OF_FUNCTIONS = frozenset(dir(lambda: None))


class Lookup:
    """
    Looks names up in one release.

    Args:
        modules: the release's.
        platform: the Python that it is judged for.

    """

    def __init__(self, modules: Modules, platform: Platform) -> None:
        self.modules = modules
        self.platform = platform
        self.literals = Literals(self)
        self.decide = Flags(modules, platform).decide
        self._active: set[tuple[object, ...]] = set()
        self._attributes: dict[Any, Values] = {}
        self.circles = 0
        """How often something was asked for that is being worked out."""

    def forget(self) -> None:
        """Let go of what was found."""
        self._attributes.clear()

    def settled(self, memo: dict[Any, T], key: Any, work: Callable[[], T]) -> T:
        """Work something out once; again where it came out as it did because of a circle."""
        if key in memo:
            return memo[key]
        before, value = self.circles, work()
        if self.circles == before:
            memo[key] = value
        return value

    # --- what the flow of statements asks

    def has_module(self, name: str) -> bool:
        """Whether the release has a module."""
        return name in self.modules or self.modules.compiled(name)

    def exports(self, module: str, name: str) -> bool | None:
        """Whether `from module import *` brings a name; None where that cannot be told."""
        tree = self.modules.get(module)
        if tree is None or tree.fault:
            return None
        listed = [case for case in self.cases(tree, "__all__") if case.binding]
        if not listed:
            return False if name.startswith("_") else self._brings(module, name)
        answers = {self._lists(one.binding, tree, name) for one in listed if one.binding}
        return answers.pop() if len(answers) == 1 else None

    def _lists(self, binding: Binding, tree: ModuleTree, name: str) -> bool | None:
        if binding.value is not None and _is_public_names(binding.value) and not binding.parts:
            return False if name.startswith("_") else self._brings(tree.name, name)
        return self.literals.membership(binding, tree, name)

    def _brings(self, module: str, name: str) -> bool | None:
        tree = self.modules.get(module)
        assert tree is not None
        cases = self.cases(tree, name)
        if all(case.binding is None for case in cases):
            bound_later = name in tree.rebound_in_functions()
            return None if bound_later or dynamic.open_namespace(tree) else False
        if any(case.binding is None or case.binding.form is Form.OPEN for case in cases):
            return None
        return True

    # --- names

    def cases(self, tree: ModuleTree, name: str, until: ast.stmt | None = None) -> Cases:
        """Tell what a module's name may be bound to."""
        key = ("cases", name, until)
        if until is None and key in tree.notes:
            return tree.notes[key][0]  # type: ignore[no-any-return]
        if (tree.name, *key) in self._active:
            self.circles += 1
            return UNBOUND  # a circle of star imports: it comes from elsewhere, if at all
        flow = Flow(name, tree, self, until)
        with _Guard(self._active, (tree.name, *key)):
            cases = flow.whole(tree.tree) or UNBOUND
        if until is None and not self._active_stars(name):
            tree.notes[key] = (cases, flow.submodule_imported)
        return cases

    def _active_stars(self, name: str) -> bool:
        return any(key[1:3] == ("cases", name) for key in self._active if len(key) == 4)

    def attribute(self, module: str, name: str) -> Values:
        """Tell what an attribute of a module is."""
        key = (module, name)
        if key in self._active:
            self.circles += 1
            return (undecidable(f"{module}:{name} is imported in a circle"),)
        return self.settled(self._attributes, key, lambda: self._guarded(key))

    def _guarded(self, key: tuple[str, str]) -> Values:
        with _Guard(self._active, key):
            return self._attribute(*key)

    def module(self, name: str) -> Value:
        """Tell what a module's name stands for."""
        tree = self.modules.get(name)
        if tree is not None:
            return Value("present", Kind.MODULE, name, "", tree, (tree.tree,), tree.fault)
        if not self.modules.covers(name):
            return undecidable(f"{name} lies outside the release", Kind.OUTSIDE, name)
        if self.modules.compiled(name):
            return Value("present", Kind.MODULE, name, reason="it has no Python source")
        if self.modules.has_stub(name):
            return undecidable(f"{name} has a stub and no source", Kind.OUTSIDE, name)
        return absent(f"there is no module {name}")

    def _attribute(self, module: str, name: str) -> Values:
        tree = self.modules.get(module)
        if tree is None:
            return (self._of_missing(module, name),)
        if tree.fault:
            return (undecidable(f"{tree.path}: {tree.fault}"),)
        replaced = dynamic.replaced_module(self, tree, name)
        if replaced is not None:
            return replaced
        values: list[Value] = []
        for case in self.cases(tree, name):
            values += self._of_case(tree, name, case)
        kept = self._rebound(tree, name, _possible(values))
        return (*kept, *self._clash(tree, name, kept))

    def _of_missing(self, module: str, name: str) -> Value:
        value = self.module(module)
        dot = f"{module}.{name}"
        if value.kind is Kind.OUTSIDE:
            return undecidable(value.reason, Kind.OUTSIDE, dot)
        if value.state == "present":
            return undecidable(f"{module} has no Python source", Kind.OUTSIDE, dot)
        return value

    def _of_case(self, tree: ModuleTree, name: str, case: Case) -> Values:
        if case.binding is None:
            return tuple(one.under(case.conditions) for one in self._unbound(tree, name))
        values = self.bound(case.binding, Scope(tree))
        return tuple(one.under(case.conditions) for one in values)

    def _rebound(self, tree: ModuleTree, name: str, values: Values) -> Values:
        """Doubt what a function of the module binds anew, if that runs at import."""
        by = tree.rebound_in_functions().get(name, frozenset()) & called_at_import(tree)
        if not by:
            return values
        reason = f"{min(by)}() binds {name} anew at import"
        return tuple(one.unsure(reason) if one.state == "present" else one for one in values)

    def _clash(self, tree: ModuleTree, name: str, values: Sequence[Value]) -> Values:
        """A submodule of the name takes its place when something imports it after the package."""
        child = f"{tree.name}.{name}"
        if not tree.is_package or child not in self.modules:
            return ()
        if all(one.kind is Kind.MODULE for one in values):
            return ()
        noted = tree.notes.get(("cases", name, None))
        if noted is None or noted[1]:
            return ()
        return (
            self.module(child).unsure(f"{child} is a module too, and stands there once imported"),
        )

    def _unbound(self, tree: ModuleTree, name: str) -> Values:
        """Tell what Python finds where no statement of the module binds a name."""
        child = f"{tree.name}.{name}"
        if tree.is_package and (found := self.module(child)).state != "absent":
            return (found,)
        if name in _IMPLICIT:
            return (Value("present", Kind.CONSTANT, tree.name, name, tree, reason="set by Python"),)
        functions = tree.rebound_in_functions()
        lazy = dynamic.from_getattr(self, tree, name)
        is_absent = lazy is not None and all(one.state == "absent" for one in lazy)
        if lazy is not None and not (
            is_absent and (name in functions or dynamic.open_namespace(tree))
        ):
            return lazy
        if name in functions:
            by = min(functions[name])
            return (undecidable(f"{tree.name} binds {name} only once {by}() has run"),)
        reason = dynamic.open_namespace(tree)
        if reason:
            return (undecidable(reason),)
        return (absent(f"{tree.name} has no {name!r}"),)

    # --- bindings

    def bound(self, binding: Binding, scope: Scope) -> Values:
        """Tell what a binding makes of its name."""
        if binding.form is Form.IMPORT:
            return (_as_imported(self.module(binding.module)),)
        if binding.form is Form.FROM:
            return self._imported(binding, scope)
        if binding.form in (Form.FUNCTION, Form.CLASS):
            return (self._defined(binding, scope),)
        if binding.form is Form.OPEN:
            what = f"`from {binding.module} import *`"
            return (undecidable(f"{what} may bring it, which cannot be told"),)
        where = scope.name(binding.name)
        nodes = (binding.node, *binding.parts)
        plain = Value("present", Kind.ASSIGNMENT, scope.tree.name, where, scope.tree, nodes)
        inside = replace(scope, until=binding.node)
        plain = replace(plain, expression=binding.value, scope=inside)
        if binding.value is None or _shaped(binding):
            return (replace(plain, sure=False),)
        return self._assigned(plain, inside)

    def _imported(self, binding: Binding, scope: Scope) -> Values:
        module, name = binding.module, binding.imported
        if module == scope.tree.name and not scope.classes:
            values = self._own(binding, scope)
        else:
            values = self.attribute(module, name)
        where = f"{scope.tree.name}:{scope.name(binding.name)}"
        return tuple(
            _as_imported(one).via(where)
            if one.state != "absent"
            else absent(f"{where} is imported: {one.reason}")
            for one in values
        )

    def _own(self, binding: Binding, scope: Scope) -> Values:
        tree = scope.tree
        values = [
            value
            for case in self.cases(tree, binding.imported, until=binding.node)
            for value in self._of_case(tree, binding.imported, case)
        ]
        return tuple(values)

    def _defined(self, binding: Binding, scope: Scope) -> Value:
        node = binding.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        value = Value(
            "present",
            None,
            scope.tree.name,
            scope.name(binding.name),
            scope.tree,
            (node, *binding.parts),
            decorators=tuple(ast.unparse(one) for one in node.decorator_list),
            scope=scope,
        )
        inside = replace(scope, until=node)
        if isinstance(node, ast.ClassDef):
            return inheritance.class_value(
                self, replace(value, classes=(*scope.classes, node)), inside
            )
        return self._function(value, node, inside)

    def _function(
        self, value: Value, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope
    ) -> Value:
        called = signature.of_arguments(node.args)
        if scope.classes:
            called = called.mangled(scope.classes[-1].name)
        kind, unknown = decorators.function_kind(self, node, scope, method=bool(scope.classes))
        if kind is None:
            reason = f"nothing is known about the decorator @{unknown}"
            return replace(value, kind=Kind.DECORATED).unsure(reason)
        if scope.classes and kind is Kind.METHOD:
            kind = _IMPLICIT_KINDS.get(node.name, kind)
        return replace(value, kind=kind, signature=called)

    def _assigned(self, value: Value, scope: Scope) -> Values:
        """Tell what an assignment makes of its name: an alias, or a value of its own."""
        assert value.expression is not None
        found = self.evaluate(value.expression, scope)
        if isinstance(value.expression, ast.Attribute) and any(
            one.kind in METHODS for one in found
        ):
            owners = self.evaluate(value.expression.value, scope)
            is_instance = any(one.instance_of is not None for one in owners)
            found = tuple(_got(one, is_instance=is_instance) for one in found)
        return tuple(self._as_assigned(value, one) for one in found)

    def _as_assigned(self, value: Value, found: Value) -> Value:
        where = f"{value.module}:{value.qualname}"
        if found.kind is Kind.OUTSIDE and not isinstance(value.expression, ast.Subscript):
            return replace(_as_imported(found), tree=value.tree, nodes=value.nodes).via(where)
        if isinstance(value.expression, ast.Subscript) and _is_alias_of_type(found):
            return replace(value, kind=Kind.CONSTANT)
        if found.state != "present" or isinstance(value.expression, ast.Subscript):
            return replace(value, sure=False, reason=found.reason)
        if found.qualname or found.kind is Kind.MODULE:
            return found.via(where)
        return replace(
            found,
            module=value.module,
            qualname=value.qualname,
            tree=value.tree,
            nodes=value.nodes,
            expression=found.expression or value.expression,
            scope=value.scope,
        )

    # --- expressions

    def evaluate(self, node: ast.expr, scope: Scope) -> Values:
        """Tell what an expression comes to; one value for each way that it may."""
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self._each(
                self.evaluate(node.value, scope), lambda one: self.member(one, node.attr)
            )
        if isinstance(node, ast.Lambda):
            called = signature.of_arguments(node.args)
            return (Value("present", Kind.FUNCTION, signature=called, expression=node),)
        if isinstance(node, ast.Call):
            return factories.of_call(self, node, scope)
        if isinstance(node, ast.IfExp):
            return self._if_expression(node, scope)
        if isinstance(node, ast.NamedExpr):
            return self.evaluate(node.value, scope)
        if isinstance(node, _PLAIN):
            none = isinstance(node, ast.Constant) and node.value is None
            return (Value("present", Kind.CONSTANT, expression=node, is_none=none),)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, scope)
        return (Value("present", Kind.ASSIGNMENT, expression=node, sure=False),)

    def member(self, value: Value, name: str) -> Values:
        """Tell what an attribute of something is."""
        if value.state == "absent":
            return (value,)
        if value.is_none:
            return (replace(absent(f"{value.qualname} is None there"), is_none=True),)
        if value.kind is Kind.OUTSIDE:
            dot = f"{value.dotted}.{name}"
            return (undecidable(f"{value.dotted} lies outside the release", Kind.OUTSIDE, dot),)
        if value.state == "undecidable":
            return (value,)
        if value.kind is Kind.MODULE:
            return self.attribute(value.module, name)
        if value.classes:
            return inheritance.member(self, value, name)
        if value.kind is Kind.CLASS:
            return (factories.member(value, name),)
        if value.instance_of is not None:
            return inheritance.instance_member(self, value.instance_of, name)
        if value.kind in FUNCTIONS | METHODS and value.sure:
            return (self._of_function(value, name),)
        return (undecidable(f"{value.qualname or 'it'} is a value, whose attributes are not told"),)

    def _each(self, values: Values, work: Callable[[Value], Values]) -> Values:
        return tuple(
            found.via(*value.chain).under(value.conditions)
            for value in values
            for found in work(value)
        )

    def _of_function(self, value: Value, name: str) -> Value:
        place = f"{value.module}:{value.qualname}"
        if name in _OF_FUNCTIONS:
            return undecidable(f"{name} of {place} is set by Python")
        if value.decorators or (value.tree and _sets(value.tree.body, value.qualname, name)):
            return undecidable(f"{place} is decorated, or has attributes set")
        return absent(f"the {value.kind} {place} has no attribute {name!r}")

    def _name(self, name: str, scope: Scope) -> Values:
        for depth in range(len(scope.classes), 0, -1):
            classes = scope.classes[:depth]
            found = inheritance.own_binding(self, scope.tree, classes, name, scope.until)
            bound = [case for case in found if case.binding is not None]
            if bound:
                inner = Scope(scope.tree, classes, scope.until)
                return tuple(
                    value.under(case.conditions)
                    for case in bound
                    if case.binding
                    for value in self.bound(case.binding, inner)
                )
            break  # a class body does not see the names of the class around it
        return self._global(name, scope)

    def _global(self, name: str, scope: Scope) -> Values:
        key = ("global", scope.tree.name, name, scope.until)
        if key in self._active:
            self.circles += 1
            return (undecidable(f"{name} is defined by itself"),)
        with _Guard(self._active, key):
            values: list[Value] = []
            for case in self.cases(scope.tree, name, scope.until):
                if case.binding is None and is_builtin(name):
                    values.append(undecidable("a builtin", Kind.OUTSIDE, f"builtins.{name}"))
                else:
                    values += self._of_case(scope.tree, name, case)
            return _possible(values)

    def _if_expression(self, node: ast.IfExp, scope: Scope) -> Values:
        truth = self.decide(node.test, scope.tree)
        if truth is not None:
            return self.evaluate(node.body if truth else node.orelse, scope)
        return (*self.evaluate(node.body, scope), *self.evaluate(node.orelse, scope))

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Values:
        base = self.evaluate(node.value, scope)
        if all(one.classes or one.kind is Kind.OUTSIDE for one in base):
            # Generic[T], list[int]: for a base class, what is subscripted counts.
            return tuple(
                replace(one, signature=None) if one.kind is Kind.OUTSIDE else one for one in base
            )
        return (Value("present", Kind.ASSIGNMENT, expression=node, sure=False),)


_IMPLICIT_KINDS = {
    "__new__": Kind.STATICMETHOD,
    "__init_subclass__": Kind.CLASSMETHOD,
    "__class_getitem__": Kind.CLASSMETHOD,
}


class _Guard:
    """
    Notes what is being worked out, so that circles end.

    Args:
        active: what is.
        key: what is now.

    """

    def __init__(self, active: set[tuple[object, ...]], key: tuple[object, ...]) -> None:
        self._active = active
        self._key = key

    def __enter__(self) -> None:
        self._active.add(self._key)

    def __exit__(self, *args: object) -> None:
        self._active.discard(self._key)


def _possible(values: Sequence[Value]) -> Values:
    """Leave out the ways that Python could not go: an import of a name that is not there."""
    kept = [one for one in values if not (one.state == "absent" and "is imported:" in one.reason)]
    return tuple(kept or values)


def _is_public_names(node: ast.expr) -> bool:
    """Whether an `__all__` is `[name for name in dir() if not name.startswith("_")]`."""
    if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
        return False
    of = node.generators[0]
    tests = [ast.unparse(one) for one in of.ifs]
    return ast.unparse(of.iter) == "dir()" and tests == [f"not {dotted(node.elt)}.startswith('_')"]


def _is_alias_of_type(value: Value) -> bool:
    """Whether subscribing something makes a type hint, such as `list[int]`."""
    module = value.dotted.rpartition(".")[0]
    return module in ("typing", "typing_extensions", "collections.abc") or (
        value.dotted.startswith("builtins.") and standard_class(value.dotted) is not None
    )


def _as_imported(value: Value) -> Value:
    """What lies outside is there once it is imported or assigned; nothing more is known of it."""
    if value.kind is not Kind.OUTSIDE:
        return value
    return replace(value, state="present", sure=True, reason="")


def _got(value: Value, *, is_instance: bool) -> Value:
    """Tell what a method is once it is read from a class, or from an instance of one."""
    if value.kind not in METHODS:
        return value
    is_async = bool(value.nodes) and isinstance(value.nodes[0], ast.AsyncFunctionDef)
    kind = Kind.ASYNC_FUNCTION if is_async else Kind.FUNCTION
    is_bound = value.kind is Kind.CLASSMETHOD or (is_instance and value.kind in AS_METHOD.values())
    called = value.signature.bound() if value.signature and is_bound else value.signature
    return replace(value, kind=kind, signature=called)


def _shaped(binding: Binding) -> bool:
    return any(isinstance(part, ast.FunctionDef) for part in binding.parts)


def _sets(body: Sequence[ast.stmt], owner: str, name: str) -> bool:
    return any(
        isinstance(target, ast.Attribute) and target.attr == name and dotted(target.value) == owner
        for one in body
        if isinstance(one, ast.Assign)
        for target in one.targets
    )
