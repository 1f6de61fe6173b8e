"""Names of the modules of one release: what they are bound to, and what they stand for."""

import ast
import builtins
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from patchkit.analysis.upstream.resolving import expressions, lazy, literals
from patchkit.analysis.upstream.resolving.bindings import UNBOUND, BindingCase, BindingCases
from patchkit.analysis.upstream.resolving.deciding import Conditions, Platform
from patchkit.analysis.upstream.resolving.flow import Flow
from patchkit.analysis.upstream.resolving.module_tree import Modules, ModuleTree
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)

_IMPLICIT = {
    *("__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__path__"),
    *("__builtins__", "__dict__", "__cached__", "__annotations__", "__class__"),
}
_NEVER_EXPORTED = frozenset({"__all__", "__getattr__"})
"""What no star import brings: without `__all__` nothing private, and none lists these."""


class ReleaseLookup(Lookup):
    """Looks names up in one release, for one Python."""

    def __init__(self, modules: Modules, platform: Platform) -> None:
        self.modules = modules
        self.platform = platform
        self.decide = Conditions(platform).decide
        self._followed: set[tuple[str, str, ast.stmt | None]] = set()
        self._asked: set[tuple[object, ...]] = set()
        self._attributes: dict[Any, Values] = {}

    bound_values = expressions.bound_values
    evaluate = expressions.evaluate
    member = expressions.member

    def exports(self, module: str, name: str) -> bool | None:
        """Whether `from module import *` brings a name; None where that cannot be told."""
        if name in _NEVER_EXPORTED:
            return False
        tree = self.modules.get(module)
        if tree is None or tree.fault:
            return None
        cases = self.binding_cases(tree, "__all__")
        lists = [value for case in cases for value in self.bound_values(case, Scope(tree))]
        return literals.contains(lists, name) if lists else self._exports_public(tree, name)

    def _exports_public(self, tree: ModuleTree, name: str) -> bool | None:
        if name.startswith("_"):
            return False
        cases = self.binding_cases(tree, name)
        if all(case.binding is None for case in cases):
            bound_later = name in tree.rebound_in_functions()
            return None if bound_later or lazy.dynamic_binding(tree) else False
        is_open = any(case.binding is None or case.binding.is_uncertain for case in cases)
        return None if is_open else True

    def binding_cases(
        self, tree: ModuleTree, name: str, until: ast.stmt | None = None
    ) -> BindingCases:
        """Tell what a module's name may be bound to."""
        note = ("cases", name)
        if until is None and note in tree.conclusions:
            return tree.conclusions[note][0]  # type: ignore[no-any-return]
        key = (tree.name, name, until)
        if key in self._followed:
            self.circle_count += 1
            return UNBOUND  # a circle of star imports: it comes from elsewhere, if at all
        flow = Flow(name, tree, self, until)
        self._followed.add(key)
        try:
            cases = flow.whole(tree.tree) or UNBOUND
        finally:
            self._followed.discard(key)
        if until is None and not any(followed == name for _, followed, _ in self._followed):
            tree.conclusions[note] = (cases, flow.submodule_imported)
        return cases

    def visible(self, tree: ModuleTree, name: str, until: ast.stmt | None = None) -> Values:
        """Tell what a name stands for in the code of a module, builtins included."""
        circle = f"{name} is defined by itself"
        key = (tree.name, name, until)
        return self._once(key, circle, lambda: self._visible(tree, name, until))

    def module_attribute(self, module: str, name: str) -> Values:
        """Tell what an attribute of a module is."""
        key = (module, name)
        if key in self._attributes:
            return self._attributes[key]
        circle = f"{module}:{name} is imported in a circle"
        work = partial(self._attribute, module, name)
        return self.remember(self._attributes, key, lambda: self._once(key, circle, work))

    def _once(self, key: tuple[object, ...], circle: str, work: Callable[[], Values]) -> Values:
        if key in self._asked:
            self.circle_count += 1
            return (undecided(circle),)
        self._asked.add(key)
        try:
            return work()
        finally:
            self._asked.discard(key)

    def _visible(self, tree: ModuleTree, name: str, until: ast.stmt | None) -> Values:
        values: list[Value] = []
        for case in self.binding_cases(tree, name, until):
            if case.binding is None and hasattr(builtins, name):
                values.append(undecided("a builtin", Kind.OUTSIDE, f"builtins.{name}"))
            else:
                values += self._of_case(tree, name, case)
        return _possible(values)

    def _attribute(self, module: str, name: str) -> Values:
        tree = self.modules.get(module)
        if tree is None:
            return (self._of_missing(module, name),)
        if tree.fault:
            return (undecided(f"{tree.path}: {tree.fault}"),)
        if lazy.replaces_itself(tree):
            return (undecided(f"{module} puts something else in its place in sys.modules"),)
        values = [
            value
            for case in self.binding_cases(tree, name)
            for value in self._of_case(tree, name, case)
        ]
        kept = self._rebound(tree, name, _possible(values))
        return (*kept, *self._clash(tree, name, kept))

    def _of_missing(self, module: str, name: str) -> Value:
        value = self.module(module)
        if value.state == "absent":
            return value
        reason = value.reason if value.kind is Kind.OUTSIDE else f"{module} has no Python source"
        return undecided(reason, Kind.OUTSIDE, f"{module}.{name}")

    def _of_case(self, tree: ModuleTree, name: str, case: BindingCase) -> Values:
        if case.binding:
            return self.bound_values(case, Scope(tree))
        return tuple(value.under(case.conditions) for value in self._unbound(tree, name))

    def _rebound(self, tree: ModuleTree, name: str, values: Values) -> Values:
        """Doubt what a function of the module binds anew, which may run at import."""
        by = tree.rebound_in_functions().get(name, set())
        if not by:
            return values
        reason = f"{min(by)}() binds {name} anew, maybe at import"
        return tuple(one.unsure(reason) if one.state == "present" else one for one in values)

    def _clash(self, tree: ModuleTree, name: str, values: Sequence[Value]) -> Values:
        """A submodule of the name takes its place when something imports it after the package."""
        child = f"{tree.name}.{name}"
        if not tree.is_package or child not in self.modules:
            return ()
        _, is_imported = tree.conclusions.get(("cases", name), (UNBOUND, True))
        if is_imported or all(value.kind is Kind.MODULE for value in values):
            return ()
        reason = f"{child} is a module too, and stands there once imported"
        return (self.module(child).unsure(reason),)

    def _unbound(self, tree: ModuleTree, name: str) -> Values:
        """Tell what Python finds where no statement of the module binds a name."""
        if tree.is_package:
            submodule = self.module(f"{tree.name}.{name}")
            if submodule.state != "absent":
                return (submodule,)
        if name in _IMPLICIT:
            return (Value("present", Kind.CONSTANT, tree.name, name, tree, reason="set by Python"),)
        by = tree.rebound_in_functions().get(name, ())
        later = f"{tree.name} binds {name} only once {min(by)}() has run" if by else ""
        later = later or lazy.dynamic_binding(tree)
        given = lazy.lazy_values(self, tree, name)
        if given and not (later and all(value.state == "absent" for value in given)):
            return given
        return (undecided(later) if later else absent(f"{tree.name} has no {name!r}"),)


def _possible(values: Sequence[Value]) -> Values:
    """Leave out the ways that Python could not go: an import of a name that is not there."""
    kept = (one for one in values if one.state != "absent" or "is imported:" not in one.reason)
    return tuple(kept) or tuple(values)
