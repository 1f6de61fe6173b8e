"""What a name or an expression upstream comes to, and what can be asked about a release."""

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
    """What a target is."""

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
    """Where an expression stands: in a module, in class bodies, the outermost first."""

    tree: ModuleTree
    classes: tuple[ast.ClassDef, ...] = ()
    until: ast.stmt | None = None  # the statement that it is part of, for what runs at import

    def qualify(self, name: str) -> str:
        """Qualify a name that is bound here."""
        return ".".join((*(one.name for one in self.classes), name))


@dataclass(frozen=True, eq=False)
class Value:
    """One thing that a name may stand for; None is what cannot be told."""

    state: State
    kind: Kind | None = None
    module: str = ""  # where it is defined
    qualname: str = ""  # its name there
    tree: ModuleTree | None = None  # None outside the release
    nodes: tuple[ast.AST, ...] = ()  # the statements that define it
    reason: str = ""  # why it is absent or undecided, or a remark
    conditions: tuple[Condition, ...] = ()
    expression: ast.expr | None = None  # what was assigned
    signature: Signature | None = None
    classes: tuple[ast.ClassDef, ...] = ()  # of a class, from the outermost around it to itself
    dotted: str = ""  # the name of something outside
    instance_of: "Value | None" = None  # the class of an object that was made by calling it
    on_class: bool = True  # False for a field that leaves nothing on the class
    is_sure: bool = True  # False where kind and signature may be others
    is_none: bool = False  # whether it is None, or something that was looked for in None
    scope: Scope | None = None  # where what defines it stands; None outside the release

    @property
    def module_tree(self) -> ModuleTree:
        """The source of what is of the release."""
        assert self.tree is not None
        return self.tree

    @property
    def definition_scope(self) -> Scope:
        """Where the bases and decorators of a class are evaluated."""
        return Scope(self.module_tree, self.classes[:-1], self.classes[-1])

    @property
    def is_import_fallback(self) -> bool:
        """Whether it is None, or something looked for in it, where an optional import fails."""
        return self.is_none and any(
            "except" in one.text and _IMPORT_ERROR.search(one.text) for one in self.conditions
        )

    def under(self, conditions: tuple[Condition, ...]) -> "Value":
        """Note what must hold."""
        return replace(self, conditions=(*conditions, *self.conditions)) if conditions else self

    def unsure(self, reason: str) -> "Value":
        """Say that kind and signature may be others."""
        return replace(self, is_sure=False, reason=reason, signature=None)

    def own_attribute(self, name: str, kind: Kind, *nodes: ast.AST, **details: Any) -> "Value":
        """Describe something that a class has."""
        qualname = f"{self.qualname}.{name}"
        return Value("present", kind, self.module, qualname, self.tree, nodes, **details)


Values = tuple[Value, ...]
"""One for each way in which a name may be bound."""


def absent(reason: str) -> Value:
    """Something that is not there."""
    return Value("absent", reason=reason)


def undecided(reason: str, kind: Kind | None = None, dotted: str = "") -> Value:
    """Something that the source does not tell."""
    return Value("undecidable", kind, reason=reason, dotted=dotted, is_sure=False)


T = TypeVar("T")


class Lookup(Protocol):
    """Looks names up in one release; what is not done here `ReleaseLookup` does."""

    modules: Modules
    decide: Callable[[ast.expr, ModuleTree], bool | None]
    """Tells whether a condition in a module holds; None where that cannot be told."""
    circle_count: int = 0
    """How often something was asked for that is being worked out."""

    def remember(self, memo: dict[Any, Any], key: Any, work: Callable[[], T]) -> T:
        """Work something out once; again where it came out as it did because of a circle."""
        before = self.circle_count
        value: T = memo[key] if key in memo else work()
        if self.circle_count == before:
            memo[key] = value
        return value

    def has_module(self, name: str) -> bool:
        """Whether the release has a module."""
        return name in self.modules or self.modules.compiled(name)

    def module(self, name: str) -> Value:
        """Tell what a module's name stands for."""
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
        """Whether `from module import *` brings a name; None where that cannot be told."""

    def binding_cases(
        self, tree: ModuleTree, name: str, until: ast.stmt | None = None
    ) -> BindingCases:
        """Tell what a module's name may be bound to."""

    def visible(self, tree: ModuleTree, name: str, until: ast.stmt | None = None) -> Values:
        """Tell what a name stands for in the code of a module, builtins included."""

    def module_attribute(self, module: str, name: str) -> Values:
        """Tell what an attribute of a module is."""

    def bound_values(self, case: BindingCase, scope: Scope) -> Values:
        """Tell what a name is in a case; () where it is not bound."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Values:
        """Tell what an expression comes to; one value for each way that it may."""

    def member(self, value: Value, name: str) -> Values:
        """Tell what an attribute of something is."""
