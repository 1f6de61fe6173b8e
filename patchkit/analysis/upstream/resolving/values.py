"""What a name or an expression of a release comes to, and the protocol of looking it up."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, Protocol, TypeVar

from patchkit.analysis.upstream.resolving.bindings import BindingCase, BindingCases, Condition
from patchkit.analysis.upstream.resolving.module_tree import Modules, ModuleTree
from patchkit.analysis.upstream.resolving.syntax import Signature

_IMPORT_ERROR = re.compile(r"\b(ImportError|ModuleNotFoundError)\b")

State = Literal["present", "absent", "undecidable"]


class Kind(str, Enum):
    """What kind of object a target is."""

    FUNCTION = "function"
    ASYNC_FUNCTION = "async function"
    CLASS = "class"
    METHOD = "method"
    ASYNC_METHOD = "async method"
    STATICMETHOD = "staticmethod"
    CLASSMETHOD = "classmethod"
    PROPERTY = "property"
    CACHED_PROPERTY = "cached property"
    CACHED_FUNCTION = "cached function"
    CONSTANT = "constant"
    ASSIGNMENT = "assignment"
    FIELD = "field"
    INSTANCE_ATTRIBUTE = "instance attribute"
    MODULE = "module"
    ITEM = "item"
    GENERATED = "generated"
    DECORATED = "decorated"
    OUTSIDE = "outside the release"

    def __str__(self) -> str:
        return self.value


METHODS = frozenset({Kind.METHOD, Kind.ASYNC_METHOD, Kind.STATICMETHOD, Kind.CLASSMETHOD})
AS_METHOD = {Kind.FUNCTION: Kind.METHOD, Kind.ASYNC_FUNCTION: Kind.ASYNC_METHOD}
"""What a function is once it stands on a class."""


@dataclass(frozen=True)
class Scope:
    """Where an expression stands."""

    tree: ModuleTree
    classes: tuple[ast.ClassDef, ...] = ()  # the class bodies around it, the outermost first
    until: ast.stmt | None = None  # the statement that it is part of, if that runs at import

    def qualify(self, name: str) -> str:
        """Return the qualified name of what is bound to a name here."""
        class_names = [node.name for node in self.classes]
        return ".".join((*class_names, name))


@dataclass(frozen=True, eq=False)
class Value:
    """An object that a name may stand for, as far as the source tells."""

    state: State
    kind: Kind | None = None  # None if it cannot be told
    module: str = ""  # the module that defines it
    qualname: str = ""  # its name in that module
    tree: ModuleTree | None = None  # None outside the release
    nodes: tuple[ast.AST, ...] = ()  # the statement that defines it, and those that modify it
    reason: str = ""  # why it is absent or undecided, or a remark
    conditions: tuple[Condition, ...] = ()
    expression: ast.expr | None = None  # what was assigned
    signature: Signature | None = None
    classes: tuple[ast.ClassDef, ...] = ()  # of a class, from the outermost around it to itself
    dotted: str = ""  # the name of something outside
    instance_of: "Value | None" = None  # the class of an object that was made by calling it
    on_class: bool = True  # False for a field that leaves nothing on the class
    is_sure: bool = True  # False if kind and signature may be different
    is_none: bool = False  # whether it is None, or an attribute that was looked up on None
    scope: Scope | None = None  # the scope of its definition; None outside the release

    @property
    def module_tree(self) -> ModuleTree:
        """The module of a value of the release."""
        assert self.tree is not None
        return self.tree

    @property
    def definition_scope(self) -> Scope:
        """The scope in which the bases and decorators of a class are evaluated."""
        return Scope(self.module_tree, self.classes[:-1], self.classes[-1])

    @property
    def is_import_fallback(self) -> bool:
        """Whether it is None, or an attribute of None, because an optional import failed."""
        if not self.is_none:
            return False
        for condition in self.conditions:
            if "except" in condition.text and _IMPORT_ERROR.search(condition.text):
                return True
        return False

    def under(self, conditions: tuple[Condition, ...]) -> "Value":
        """Add conditions that must hold."""
        if not conditions:
            return self
        return replace(self, conditions=(*conditions, *self.conditions))

    def unsure(self, reason: str) -> "Value":
        """Return the value as one whose kind and signature may be different."""
        return replace(self, is_sure=False, reason=reason, signature=None)

    def own_attribute(
        self,
        name: str,
        kind: Kind,
        *nodes: ast.AST,
        **details: Any,
    ) -> "Value":
        """Describe an attribute that this class itself has.

        Args:
            name: The name of the attribute.
            kind: What it is.
            nodes: The statements that define it.
            details: Further fields of the value.
        """
        qualname = f"{self.qualname}.{name}"
        return Value("present", kind, self.module, qualname, self.tree, nodes, **details)


Values = tuple[Value, ...]
"""One for each way in which a name may be bound."""


def absent(reason: str) -> Value:
    """Return a value that does not exist."""
    return Value("absent", reason=reason)


def undecided(reason: str, kind: Kind | None = None, dotted: str = "") -> Value:
    """Return a value about which the source leaves open whether it exists, or what it is.

    Args:
        reason: What leaves it open.
        kind: What it is, as far as that is known.
        dotted: Its name, if it is outside the release.
    """
    return Value("undecidable", kind, reason=reason, dotted=dotted, is_sure=False)


T = TypeVar("T")


class Lookup(Protocol):
    """Looks names up in one release; `ReleaseLookup` implements what has no body here."""

    modules: Modules
    decide: Callable[[ast.expr, ModuleTree], bool | None]
    """Tells whether a condition in a module holds; None if that cannot be told."""
    circle_count: int = 0
    """How often something was asked for while it was being computed."""

    def remember(
        self,
        memory: dict[Any, Any],
        key: Any,
        compute: Callable[[], T],
    ) -> T:
        """Compute something once.

        Args:
            memory: Where results are kept.
            key: The key of the result.
            compute: Returns the result; one that depends on a circle is not kept, as it would be
                different if it were computed outside the circle.
        """
        if key in memory:
            remembered: T = memory[key]
            return remembered
        before = self.circle_count
        result = compute()
        if self.circle_count == before:
            memory[key] = result
        return result

    def has_module(self, name: str) -> bool:
        """Whether the release has a module, be it compiled."""
        return name in self.modules or self.modules.compiled(name)

    def module(self, name: str) -> Value:
        """Return what the name of a module stands for."""
        tree = self.modules.get(name)
        if tree is not None:
            return Value("present", Kind.MODULE, name, "", tree, (tree.tree,), tree.fault)
        if not self.modules.covers(name):
            return undecided(f"{name} lies outside the release", Kind.OUTSIDE, name)
        if self.modules.compiled(name):
            return Value("present", Kind.MODULE, name, reason="it has no Python source")
        if self.modules.has_stub(name):
            return undecided(f"{name} has a stub and no source", Kind.OUTSIDE, name)
        return absent(f"there is no module {name}")

    def exports(self, module: str, name: str) -> bool | None:
        """Whether `from module import *` binds a name; None if that cannot be told."""

    def binding_cases(
        self,
        tree: ModuleTree,
        name: str,
        until: ast.stmt | None = None,
    ) -> BindingCases:
        """List what a module's name may be bound to, before a statement or at the end."""

    def visible(
        self,
        tree: ModuleTree,
        name: str,
        until: ast.stmt | None = None,
    ) -> Values:
        """Return what a name stands for in the code of a module, builtins included."""

    def module_attribute(self, module: str, name: str) -> Values:
        """Return what an attribute of a module is."""

    def bound_values(self, case: BindingCase, scope: Scope) -> Values:
        """Return what a name is in one case; () if it is not bound."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Values:
        """Return what an expression comes to; one value for each object that it may be."""

    def member(self, value: Value, name: str) -> Values:
        """Return what an attribute of a value is."""
