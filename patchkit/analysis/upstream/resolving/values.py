"""Describes the objects that names and expressions stand for, and the protocol to look them up."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, Protocol, TypeVar

from patchkit.analysis.upstream.resolving.bindings import (
    BindingCase,
    BindingCases,
    Condition,
)
from patchkit.analysis.upstream.resolving.module_tree import Modules, ModuleTree
from patchkit.analysis.upstream.resolving.syntax import Signature

OUTSIDE = "is outside the release"
"""What the reason says why nothing is known of a module of another distribution."""
NO_MODULE = "there is no module"
"""How the reason begins why a name is absent whose module is."""
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


METHODS = frozenset(
    {Kind.METHOD, Kind.ASYNC_METHOD, Kind.STATICMETHOD, Kind.CLASSMETHOD}
)
AS_METHOD = {Kind.FUNCTION: Kind.METHOD, Kind.ASYNC_FUNCTION: Kind.ASYNC_METHOD}
"""What a function is once it stands on a class."""


@dataclass(frozen=True)
class Scope:
    """Where an expression stands.

    Args:
        tree: The module.
        classes: The classes in whose bodies it stands, outermost first; () for the module.
        until: The statement that it is part of, if that runs at import: names have the values
            that they have before it. None for code that runs later: names have the values that
            they have at the end of the module.
    """

    tree: ModuleTree
    classes: tuple[ast.ClassDef, ...] = ()
    until: ast.stmt | None = None

    def qualify(self, name: str) -> str:
        """Return the qualified name of what is bound to a name in this scope.

        Args:
            name: The name, as the statement that binds it spells it.
        """
        class_names = [node.name for node in self.classes]
        return ".".join((*class_names, name))


@dataclass(frozen=True, eq=False)
class Value:
    """An object that a name may stand for, as far as the source tells.

    Args:
        state: Whether it exists; "undecidable" if the source leaves that, or what it is, open.
        kind: What kind of object it is; None if that is not known.
        module: The module that defines it; '' if that is unknown, or it has no name.
        qualname: Its name in that module; '' for the module itself.
        tree: The module that defines it, parsed; None for what lies outside the release, has no
            Python source, or is not defined by a statement of its own.
        nodes: The statement that defines it, then those that modify it further.
        reason: Why it is absent, undecided or not sure, or a remark on what is; '' for none.
        conditions: What must hold for the name to stand for it, outermost first.
        expression: What was assigned, if it was defined by an assignment.
        signature: How it is called; None if it is not called, or that is not known.
        classes: Of a class of the release, the classes around it, outermost first, and itself; of
            a hook such as `__init_subclass__`, those of its class. () for everything else.
        dotted: The dotted name of what lies outside the release; for a class that is made by a
            call, the name of what is called. '' for everything else.
        instance_of: For an object that was made by calling a class: that class.
        on_class: False for a field that leaves no attribute on the class.
        is_sure: False if it may be of another kind, or have another signature.
        is_none: Whether it is None, or an attribute that was looked up on None.
        is_module: Whether it is a module outside the release, as an `import` statement says.
        scope: Where its definition stands; None outside the release.
    """

    state: State
    kind: Kind | None = None
    module: str = ""
    qualname: str = ""
    tree: ModuleTree | None = None
    nodes: tuple[ast.AST, ...] = ()
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    expression: ast.expr | None = None
    signature: Signature | None = None
    classes: tuple[ast.ClassDef, ...] = ()
    dotted: str = ""
    instance_of: "Value | None" = None
    on_class: bool = True
    is_sure: bool = True
    is_none: bool = False
    is_module: bool = False
    scope: Scope | None = None

    @property
    def module_tree(self) -> ModuleTree:
        """The module of a value of the release."""
        assert self.tree is not None
        return self.tree

    @property
    def has_class_statement(self) -> bool:
        """Whether it is a class of the release that a `class` statement defines."""
        return bool(self.classes)

    @property
    def class_statement(self) -> ast.ClassDef:
        """The `class` statement that defines it."""
        return self.classes[-1]

    @property
    def definition_scope(self) -> Scope:
        """The scope in which the bases and decorators of a class are evaluated."""
        return Scope(self.module_tree, self.classes[:-1], self.class_statement)

    @property
    def is_import_fallback(self) -> bool:
        """Whether it is None, or an attribute of None, because an optional import failed."""
        if not self.is_none:
            return False
        for condition in self.conditions:
            # Such as `except ImportError`.
            if "except" in condition.text and _IMPORT_ERROR.search(condition.text):
                return True
        return False

    def under(self, conditions: tuple[Condition, ...]) -> "Value":
        """Return the value with further conditions.

        Args:
            conditions: What must hold in addition; they stand outside those that it has.
        """
        if not conditions:
            return self
        return replace(self, conditions=(*conditions, *self.conditions))

    def unsure(self, reason: str) -> "Value":
        """Return the value as one whose kind and signature may be others.

        Args:
            reason: Why they may be, for the report. It replaces the reason that the value has.

        Returns:
            The value without its signature; its state is the same.
        """
        return replace(self, is_sure=False, reason=reason, signature=None)

    def own_attribute(
        self,
        name: str,
        kind: Kind,
        *nodes: ast.AST,
        **details: Any,
    ) -> "Value":
        """Return a value for an attribute that this class itself defines.

        Args:
            name: The name of the attribute.
            kind: What it is.
            nodes: The statements that define it.
            details: Further fields of the value.
        """
        qualname = f"{self.qualname}.{name}"
        return Value(
            "present", kind, self.module, qualname, self.tree, nodes, **details
        )


Values = tuple[Value, ...]
"""The objects that a name may stand for: one for each way in which it may be bound."""


def absent(reason: str) -> Value:
    """Return a value that says that something does not exist.

    Args:
        reason: What is missing where, for the report.
    """
    return Value("absent", reason=reason)


def undecided(reason: str, kind: Kind | None = None, dotted: str = "") -> Value:
    """Return a value that says that the source leaves open whether something exists, or what it is.

    Args:
        reason: Why it does not tell, for the report.
        kind: What it is, as far as that is known.
        dotted: Its name, if it is outside the release.
    """
    return Value("undecidable", kind, reason=reason, dotted=dotted, is_sure=False)


T = TypeVar("T")


class Lookup(Protocol):
    """Looks names up in one release; `ReleaseLookup` implements what has no body here.

    Args:
        modules: The modules of the release.
    """

    modules: Modules
    decide: Callable[[ast.expr, ModuleTree], bool | None]
    """Tells whether a condition in a module holds; None if that is not known."""
    circle_count: int = 0
    """How often a computation has led back to itself."""

    def remember(
        self,
        memory: dict[Any, Any],
        key: Any,
        compute: Callable[[], T],
    ) -> T:
        """Return a result from a memory, or compute and store it.

        Args:
            memory: Where results are stored.
            key: The key of the result.
            compute: Returns the result. One that was cut short by a circle is not stored, as it
                would be different if it were computed from another start.
        """
        if key in memory:
            remembered: T = memory[key]
            return remembered
        circles_before = self.circle_count
        result = compute()
        if self.circle_count == circles_before:
            memory[key] = result
        return result

    def has_module(self, name: str) -> bool:
        """Whether the release has a module, as Python source or compiled.

        Args:
            name: The absolute name of the module.
        """
        return name in self.modules or self.modules.compiled(name)

    def module(self, name: str) -> Value:
        """Return what the name of a module stands for.

        Args:
            name: The absolute name of the module, which may lie outside the release.

        Returns:
            A module that is present, without nodes if it is compiled; an absent value; or an
            undecided one of the kind `OUTSIDE` if the files of the release do not tell.
        """
        tree = self.modules.get(name)
        if tree is not None:
            nodes = (tree.tree,)
            reason = tree.fault
            return Value(
                "present", Kind.MODULE, name, tree=tree, nodes=nodes, reason=reason
            )
        if not self.modules.covers(name):
            return undecided(f"{name} {OUTSIDE}", Kind.OUTSIDE, name)
        if self.modules.compiled(name):
            return Value("present", Kind.MODULE, name, reason="it has no Python source")
        package = name.rpartition(".")[0]
        while package:  # an extension module may make modules below it
            if self.modules.compiled(package):
                reason = f"{package} is compiled, and may have {name}"
                return undecided(reason, Kind.OUTSIDE, name)
            package = package.rpartition(".")[0]
        parent = self.modules.get(name.rpartition(".")[0])
        if parent is not None and parent.may_make_modules():
            reason = f"{parent.name} makes modules by code, and may make {name}"
            return undecided(reason, Kind.OUTSIDE, name)
        if self.modules.has_stub(name):
            return undecided(f"{name} has a stub and no source", Kind.OUTSIDE, name)
        return absent(f"{NO_MODULE} {name}")

    def exports(self, module: str, name: str) -> bool | None:
        """Whether `from module import *` binds a name.

        Args:
            module: The absolute name of the module.
            name: The name.

        Returns:
            None if that is not known.
        """

    def binding_cases(
        self,
        tree: ModuleTree,
        name: str,
        until: ast.stmt | None = None,
    ) -> BindingCases:
        """List what a module's name may be bound to.

        Args:
            tree: The module.
            name: The name.
            until: The statement before which to look; None for the end of the module.

        Returns:
            At least one case; one without a binding if the name may be unbound.
        """

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

    def module_attribute(self, module: str, name: str) -> Values:
        """Return what an attribute of a module is, submodules and lazy names included.

        Args:
            module: The absolute name of the module.
            name: The name of the attribute.
        """

    def bound_values(self, case: BindingCase, scope: Scope) -> Values:
        """Return the objects that a name may stand for in one case.

        Args:
            case: The case.
            scope: The scope that the binding stands in.

        Returns:
            () if the name is not bound.
        """

    def evaluate(self, node: ast.expr, scope: Scope) -> Values:
        """Return what an expression comes to.

        Args:
            node: The expression.
            scope: Where it stands.

        Returns:
            One value for each object that it may be.
        """

    def member(self, value: Value, name: str) -> Values:
        """Return what an attribute of a value is.

        Args:
            value: A module, a class, or any other object.
            name: The name of the attribute.
        """
