"""Looks up the names of modules of one release: their bindings, and the objects behind them."""

import ast
import builtins
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from patchkit.analysis.upstream.resolving import (
    expressions,
    lazy,
    lazy_modules,
    literals,
)
from patchkit.analysis.upstream.resolving.bindings import (
    UNBOUND,
    BindingCase,
    BindingCases,
)
from patchkit.analysis.upstream.resolving.changes_of_all import (
    functions_list_names,
    may_remove_names,
)
from patchkit.analysis.upstream.resolving.deciding import Conditions, Platform
from patchkit.analysis.upstream.resolving.flow import Flow
from patchkit.analysis.upstream.resolving.module_tree import Modules, ModuleTree
from patchkit.analysis.upstream.resolving.namespace_changes import namespace_changes
from patchkit.analysis.upstream.resolving.namespaces import (
    dynamic_binding,
    rebinding,
)
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)
from patchkit.analysis.upstream.resolving.variants import distinct, importable

_CIRCLES = 50_000
"""How many circles are followed for a name: of ten modules that import each other with `*`, there
are millions."""
_SET_ON_MODULES = frozenset(
    {
        "__annotations__",
        "__builtins__",
        "__cached__",
        "__class__",
        "__dict__",
        "__doc__",
        "__file__",
        "__loader__",
        "__name__",
        "__package__",
        "__path__",
        "__spec__",
    }
)
"""Attributes that Python sets on modules."""
_NEVER_EXPORTED = frozenset({"__all__", "__getattr__"})
"""Names that no star import binds: they are private, and no `__all__` lists them."""


class ReleaseLookup(Lookup):
    """Looks names up in one release.

    Args:
        modules: The modules of the release.
        platform: The Python that it is read for.
    """

    def __init__(self, modules: Modules, platform: Platform) -> None:
        self.modules = modules
        self.platform = platform
        self.decide = Conditions(platform).decide
        self._followed: set[tuple[str, str, ast.stmt | None]] = set()
        """The calls of `binding_cases` that are under way, to notice circles of imports."""
        self._pending: set[tuple[object, ...]] = set()
        """The calls of `visible` and `module_attribute` that are under way, for the same reason."""
        self._attributes: dict[Any, Values] = {}
        self._last_circle = 0
        """The last circle, by its number, that is followed for the name which is looked up."""

    bound_values = expressions.bound_values
    evaluate = expressions.evaluate
    member = expressions.member

    def exports(self, module: str, name: str) -> bool | None:
        """Whether `from module import *` binds a name, by `__all__` if the module has one.

        Args:
            module: The absolute name of the module.
            name: The name.

        Returns:
            None if that is not known, as of a module without Python source.
        """
        if name in _NEVER_EXPORTED:
            return False
        if self.circle_count > self._last_circle:
            return None
        tree = self.modules.get(module)
        if tree is None or tree.fault:
            return None
        if lazy_modules.replaces_itself(tree):
            return self._has_lazily(module, name)
        values_of_all: list[Value] = []
        for case in self.binding_cases(tree, "__all__"):
            values_of_all += self.bound_values(case, Scope(tree))
        if not values_of_all:
            return self._exports_without_all(tree, name)
        if may_remove_names(tree):
            return None
        is_listed = literals.contains(values_of_all, name)
        if is_listed is False and functions_list_names(tree):
            return None  # they may list this one
        return is_listed

    def _has_lazily(self, module: str, name: str) -> bool | None:
        """Whether a module has a name that puts another object in its place; None if unknown."""
        states = {value.state for value in self.module_attribute(module, name)}
        if states == {"present"}:
            return True
        if states == {"absent"}:
            return False
        return None

    def _exports_without_all(self, tree: ModuleTree, name: str) -> bool | None:
        """Whether a star import binds a name where there is no `__all__`: every public one.

        None if it is not known whether the module has the name.
        """
        if name.startswith("_"):
            return False
        cases = self.binding_cases(tree, name)
        if all(case.binding is None for case in cases):
            is_bound_later = name in tree.rebound_in_functions()
            is_submodule = tree.is_package and self.has_module(f"{tree.name}.{name}")
            if is_bound_later or is_submodule or dynamic_binding(self, tree, name):
                return None
            return False
        for case in cases:
            if case.binding is None or case.binding.is_uncertain:
                return None
        return True

    def binding_cases(
        self, tree: ModuleTree, name: str, until: ast.stmt | None = None
    ) -> BindingCases:
        """List what a module's name may be bound to.

        Args:
            tree: The module.
            name: The name.
            until: The statement before which to look; None for the end of the module.

        Returns:
            At least one case; one without a binding if the name may be unbound, or if working it
            out leads back to it.
        """
        conclusion = ("cases", name)
        if until is None and conclusion in tree.conclusions:
            return tree.conclusions[conclusion][0]  # type: ignore[no-any-return]
        key = (tree.name, name, until)
        if key in self._followed:
            # Modules import each other with `*`: another module binds the name, if any does.
            self.circle_count += 1
            return UNBOUND
        if not self._followed:
            self._last_circle = self.circle_count + _CIRCLES
        flow = Flow(name, tree, self, until)
        circles_before = self.circle_count
        self._followed.add(key)
        try:
            cases = flow.whole(tree.tree) or UNBOUND
        finally:
            self._followed.discard(key)
        # While the name is followed in another module, the cases may depend on a circle.
        is_followed = any(followed == name for _, followed, _ in self._followed)
        has_circle = is_followed and self.circle_count > circles_before
        if (
            until is None and not has_circle
        ):  # the second part: `_submodule_of_same_name`
            tree.conclusions[conclusion] = (cases, flow.submodule_imported)
        return cases

    def visible(
        self,
        tree: ModuleTree,
        name: str,
        until: ast.stmt | None = None,
    ) -> Values:
        """Return what a name stands for in the code of a module, builtins included.

        Args:
            tree: The module.
            name: The name.
            until: The statement that the code is part of, if it runs at import.
        """
        key = ("visible", tree.name, name, until)
        reason = f"{name} is defined by itself"
        compute = partial(self._visible, tree, name, until)
        return self._without_circle(tree.conclusions, key, reason, compute)

    def module_attribute(self, module: str, name: str) -> Values:
        """Return what an attribute of a module is, submodules and lazy names included.

        Args:
            module: The absolute name of the module.
            name: The name of the attribute.
        """
        key = (module, name)
        # `remember` would look there, too; most calls are spared making its arguments.
        if key in self._attributes:
            return self._attributes[key]
        reason = f"{module}:{name} is imported in a circle"
        compute = partial(self._module_attribute, module, name)
        return self._without_circle(self._attributes, key, reason, compute)

    def _without_circle(
        self,
        memory: dict[Any, Any],
        key: tuple[object, ...],
        reason: str,
        compute: Callable[[], Values],
    ) -> Values:
        """Compute values once; return undecided ones if the computation leads back to itself.

        Args:
            memory: Where they are stored.
            key: Tells this computation from others.
            reason: Why the values are undecided then, for the report.
            compute: Returns the values.
        """
        if key in self._pending:
            # So that `remember` stores nothing that is based on this.
            self.circle_count += 1
            return (undecided(reason),)
        self._pending.add(key)
        try:
            return self.remember(memory, key, compute)
        finally:
            self._pending.discard(key)

    def _visible(self, tree: ModuleTree, name: str, until: ast.stmt | None) -> Values:
        """Work out what a name stands for; see `visible`, which guards against circles."""
        values: list[Value] = []
        for case in self.binding_cases(tree, name, until):
            if case.binding is None and hasattr(builtins, name):
                values.append(undecided("a builtin", Kind.OUTSIDE, f"builtins.{name}"))
            else:
                values += self._values_of_case(tree, name, case)
        return importable(distinct(tuple(values)))

    def _module_attribute(self, module: str, name: str) -> Values:
        """Work out an attribute; see `module_attribute`, which remembers it."""
        tree = self.modules.get(module)
        if tree is None:
            return (self._attribute_without_source(module, name),)
        if tree.fault:
            return (undecided(f"{tree.path}: {tree.fault}"),)
        if lazy_modules.replaces_itself(tree):
            return lazy_modules.replaced_values(self, tree, name)
        if lazy.may_be_replaced(self, tree):
            return lazy.of_replaced(self, tree, name)
        values: list[Value] = []
        for case in self.binding_cases(tree, name):
            values += self._values_of_case(tree, name, case)
        found = importable(distinct(tuple(values)))
        attributes = self._doubted_if_rebound(tree, name, found)
        return (*attributes, *self._submodule_of_same_name(tree, name, attributes))

    def _attribute_without_source(self, module: str, name: str) -> Value:
        """Return an attribute of a module that has no Python source, or that does not exist."""
        value = self.module(module)
        if value.state == "absent":
            return value
        reason = f"{module} has no Python source"
        if value.kind is Kind.OUTSIDE:
            reason = value.reason
        return undecided(reason, Kind.OUTSIDE, f"{module}.{name}")

    def _values_of_case(self, tree: ModuleTree, name: str, case: BindingCase) -> Values:
        """Return what a name stands for in one case; one that is unbound may be a submodule."""
        if case.binding:
            return self.bound_values(case, Scope(tree))
        return tuple(
            value.under(case.conditions) for value in self._unbound(tree, name)
        )

    def _doubted_if_rebound(
        self,
        tree: ModuleTree,
        name: str,
        values: Values,
    ) -> Values:
        """Return values as unsure if other code than a statement may rebind the name.

        Such as a function with `global name`, or `globals()["name"] = …`; undecided if it deletes.
        """
        reason, is_deleted = self._rebound_by(tree, name)
        if not reason:
            return values
        doubted: list[Value] = []
        for value in values:
            if value.state != "present":
                doubted.append(value)
            elif is_deleted:
                doubted.append(undecided(reason, value.kind))
            else:
                doubted.append(value.unsure(reason))
        return tuple(doubted)

    def _rebound_by(self, tree: ModuleTree, name: str) -> tuple[str, bool]:
        """Say what may rebind a name, '' for nothing, and whether it deletes the name."""
        functions = tree.rebound_in_functions().get(name)
        if functions:
            # One of them stands for all: the first by name, so that messages stay the same.
            reason = f"{min(functions)}() rebinds {name}, possibly at import"
            deletion = rb"^\s+del\s[^\n]*\b%s\b" % re.escape(name.encode())
            return reason, bool(re.search(deletion, tree.source, re.MULTILINE))
        if not namespace_changes(tree):
            return "", False
        lines = [
            case.binding.node.lineno
            for case in self.binding_cases(tree, name)
            if case.binding is not None
        ]
        if not lines:
            return "", False
        return rebinding(self, tree, name, min(lines))

    def _submodule_of_same_name(
        self,
        tree: ModuleTree,
        name: str,
        values: Sequence[Value],
    ) -> Values:
        """Return the submodule that replaces an attribute of a package once it is imported.

        Args:
            tree: The package.
            name: The name of the attribute.
            values: What the statements of the package make of it.

        Returns:
            () if there is no such submodule, or the package itself imports it.
        """
        child = f"{tree.name}.{name}"
        if not tree.is_package or child not in self.modules:
            return ()
        # `binding_cases` has noted whether the package imports the submodule. Where it has not, as
        # in a circle of imports, the submodule is left out.
        _, is_imported = tree.conclusions.get(("cases", name), (UNBOUND, True))
        if is_imported or all(value.kind is Kind.MODULE for value in values):
            return ()
        reason = f"{child} is also a module, which takes its place once imported"
        return (self.module(child).unsure(reason),)

    def _doubted_if_lazy(self, tree: ModuleTree, name: str, submodule: Value) -> Value:
        """Return a submodule as unsure if the `__getattr__` of its package provides its name."""
        lazily = lazy.lazy_values(self, tree, name)
        if any(value.state == "present" for value in lazily):
            return submodule.unsure(f"the __getattr__ of {tree.name} may provide it")
        return submodule

    def _unbound(self, tree: ModuleTree, name: str) -> Values:
        """Return what Python finds if no statement of the module binds a name."""
        if tree.is_package:
            submodule = self.module(f"{tree.name}.{name}")
            if submodule.state != "absent":
                return (self._doubted_if_lazy(tree, name, submodule),)
        if name in _SET_ON_MODULES:
            value = Value(
                "present", Kind.CONSTANT, tree.name, name, tree, reason="set by Python"
            )
            return (value,)
        bound_later = _bound_later(self, tree, name)
        values = lazy.lazy_values(self, tree, name)
        if not values:
            if bound_later:
                return (undecided(bound_later),)
            return (absent(f"{tree.name} has no {name!r}"),)
        # Its `__getattr__` does not provide the name, but other code may.
        if bound_later and all(value.state == "absent" for value in values):
            return (undecided(bound_later),)
        return values


def _bound_later(lookup: Lookup, tree: ModuleTree, name: str) -> str:
    """Say what may bind a name of a module that no statement binds; '' for nothing."""
    functions = tree.rebound_in_functions().get(name)
    if functions:
        return f"{tree.name} binds {name} only once {min(functions)}() has run"
    return dynamic_binding(lookup, tree, name)
