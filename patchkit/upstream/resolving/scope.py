"""Where an expression of upstream's source stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from patchkit.upstream.resolving.module_tree import ModuleTree


@dataclass(frozen=True)
class Scope:
    """
    Where an expression stands.

    Args:
        tree: its module.
        classes: the class bodies around it, outermost first.
        until: the statement that it is part of, for what runs at import.

    """

    tree: ModuleTree
    classes: tuple[ast.ClassDef, ...] = ()
    until: ast.stmt | None = None

    @property
    def qualname(self) -> str:
        """Of the innermost class; '' in a module."""
        return ".".join(one.name for one in self.classes)

    def name(self, name: str) -> str:
        """Qualify a name that is bound here."""
        return f"{self.qualname}.{name}" if self.classes else name
