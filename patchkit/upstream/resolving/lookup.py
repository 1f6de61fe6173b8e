"""What the files of this room ask of each other about a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from patchkit.upstream.resolving.bindings import Binding, Cases
    from patchkit.upstream.resolving.module_tree import Modules, ModuleTree
    from patchkit.upstream.resolving.values import Scope, Value, Values

T = TypeVar("T")


class Lookup(Protocol):
    """Looks names up in one release; `ReleaseLookup` does."""

    @property
    def modules(self) -> Modules:
        """The release's modules."""

    circles: int
    """How often something was asked for that is being worked out."""

    def settled(self, memo: dict[Any, Any], key: Any, work: Callable[[], T]) -> T:
        """Work something out once; again where it came out as it did because of a circle."""

    def decide(self, test: ast.expr, tree: ModuleTree) -> bool | None:
        """Tell whether a condition in a module holds; None where that cannot be told."""

    def has_module(self, name: str) -> bool:
        """Whether the release has a module."""

    def exports(self, module: str, name: str) -> bool | None:
        """Whether `from module import *` brings a name; None where that cannot be told."""

    def cases(self, tree: ModuleTree, name: str, until: ast.stmt | None = None) -> Cases:
        """Tell what a module's name may be bound to."""

    def visible(self, tree: ModuleTree, name: str, until: ast.stmt | None = None) -> Values:
        """Tell what a name stands for in the code of a module, builtins included."""

    def attribute(self, module: str, name: str) -> Values:
        """Tell what an attribute of a module is."""

    def module(self, name: str) -> Value:
        """Tell what a module's name stands for."""

    def bound(self, binding: Binding, scope: Scope) -> Values:
        """Tell what a binding makes of its name."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Values:
        """Tell what an expression comes to; one value for each way that it may."""

    def member(self, value: Value, name: str) -> Values:
        """Tell what an attribute of something is."""
