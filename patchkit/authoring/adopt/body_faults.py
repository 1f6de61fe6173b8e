"""Says why code of a body would do something else in a module of upstream."""

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.authoring.adopt.definitions import (
    IMPORTS,
    PARTS_OF_PROPERTY,
    Definitions,
    imports_of,
    origin_of,
    private_name,
)
from patchkit.authoring.adopt.global_names import names_at_import, used_names

_FUNCTIONS_OF_MODULE = frozenset({"eval", "exec", "globals", "locals"})
"""Builtins that read the module that they are called in."""
_FUNCTIONS_OF_SCOPE = frozenset({"dir", "super", "vars"})
"""Builtins that do so, or read the class, without an argument."""
_ATTRIBUTES_OF_MODULE = frozenset({"__globals__", "__module__", "f_globals"})


@dataclass(frozen=True)
class BodyFaults:
    """A body, of which code is to stand in a module of upstream.

    Args:
        definitions: what the body defines and imports.
        strangers: the top-level packages that upstream knows nothing of, such as the pack's.
    """

    definitions: Definitions
    strangers: frozenset[str]

    def of_definition(self, by: str, *, is_in_class: bool) -> str:
        """Say why a definition cannot be moved, or something that it uses.

        Args:
            by: its qualified name.
            is_in_class: whether it becomes a member of a class.

        Returns:
            The reason; '' if it can be moved.
        """
        for name in sorted(self._bound_again):
            if f"{by}.".startswith(f"{name}.") or name.startswith(f"{by}."):
                return f"more than one statement of the body sets {name}"
        if by not in self.definitions.named:
            fault = self._of_names({by} & self.definitions.imports.keys())
            return f"it {fault}" if fault else ""
        parts = [f"{by}{part}" for part in PARTS_OF_PROPERTY.values()]
        for name in (by, *parts):
            node = self.definitions.named.get(name)
            if node is None:
                continue
            fault = self._of_member(node, by, is_in_class=is_in_class)
            # The setter of a property reads that in its decorator.
            names = used_in(node) - {by.rpartition(".")[2]}
            fault = fault or self._of_code(node) or self._of_names(names)
            if fault:
                return f"it {fault}"
            fault = self.of_helpers(names)
            if fault:
                return fault
        return ""

    def of_helpers(self, names: Iterable[str]) -> str:
        """Say why something cannot be moved that code uses, sooner or later.

        Args:
            names: the names that the code uses.

        Returns:
            The reason; '' if all of it can be moved.
        """
        for name in sorted(reached(self.definitions, names)):
            node = self.definitions.named.get(name)
            if node is None:
                continue
            fault = self._of_code(node) or self._of_names(used_in(node))
            if fault:
                return f"it uses {name}, which {fault}"
        return ""

    def of_imports(self, node: ast.AST) -> str:
        """Say which import in code upstream cannot make.

        Args:
            node: the code.

        Returns:
            The reason; '' if it can make all of them.
        """
        for part in ast.walk(node):
            if isinstance(part, IMPORTS):
                is_relative = bool(getattr(part, "level", 0))
                for name, statement in imports_of(part, self.definitions.tree):
                    fault = self._of_import(name, statement)
                    if fault or is_relative:
                        return fault or f"has a relative import of {name}"
        return ""

    def _of_import(self, name: str, statement: str) -> str:
        origin = origin_of(statement)
        if origin.partition(".")[0] in self.strangers:
            return f"uses {name} of {origin}, which upstream does not have"
        return ""

    def _of_names(self, names: Iterable[str]) -> str:
        """Say which name means nothing, or something else, in another module; '' if none does."""
        definitions = self.definitions
        for name in sorted(names):
            if name in self._bound_again:
                return f"uses {name}, which no statement of the body alone sets"
            if name in definitions.imports and name not in definitions.named:
                fault = self._of_import(name, definitions.imports[name])
                if fault:
                    return fault
            elif name in {*definitions.named, *definitions.type_imports}:
                continue
            elif name in definitions.binders:
                return f"uses {name}, which no statement of the body alone sets"
            elif name in _FUNCTIONS_OF_MODULE or name.startswith("__"):
                return f"uses {name}, which is of its module"
            elif not hasattr(builtins, name):
                return f"reads {name}, which the body does not bind"
        return ""

    def _of_code(self, node: ast.AST) -> str:
        """Say what else in a definition means another thing in another module."""
        for part in ast.walk(node):
            if isinstance(part, ast.Global):
                return f"sets {part.names[0]}, a global of the body"
            if isinstance(part, ast.Attribute) and part.attr in _ATTRIBUTES_OF_MODULE:
                return f"uses {part.attr}, which is of its module"
            if isinstance(part, ast.Call) and not part.args:
                function = dotted(part.func)
                if function in _FUNCTIONS_OF_SCOPE - {"super"}:
                    return f"uses {function}, which is of its module"
        return self.of_imports(node)

    def _of_member(self, node: ast.stmt, by: str, *, is_in_class: bool) -> str:
        """Say what in a function or a value means another thing in another class."""
        owner = by.rpartition(".")[0]
        if isinstance(node, ast.ClassDef) or not (owner or is_in_class):
            return ""
        private = private_name(node)
        if private:
            return f"uses {private}, which is private to its class"
        for part in ast.walk(node):
            is_call = isinstance(part, ast.Call) and not part.args
            if is_call and dotted(getattr(part, "func", None)) == "super":
                return "uses super() of its class"
        for name in sorted(names_at_import(node) - {by.rpartition(".")[2]}):
            if f"{owner}.{name}" in self.definitions.binders:
                return f"uses {name} of its class"
        return ""

    @cached_property
    def _bound_again(self) -> set[str]:
        """The qualified names that more than one statement binds, or a function sets."""
        names: set[str] = set()
        for node in ast.walk(self.definitions.tree.tree):
            if isinstance(node, ast.Global):
                names.update(node.names)
        for name, nodes in self.definitions.binders.items():
            if len(self._bindings(name, nodes)) > 1:
                names.add(name)
        return names

    def _bindings(self, name: str, nodes: Iterable[ast.stmt]) -> set[object]:
        """List what binds a name, of which `import a` is part of `import a.b`."""
        bindings: set[object] = set()
        for node in nodes:
            if not isinstance(node, IMPORTS):
                bindings.add(node)
                continue
            for bound, statement in imports_of(node, self.definitions.tree):
                if bound == name:
                    bindings.add(statement)
        if len(bindings) > 1:
            bindings.discard(f"import {name}")
        return bindings


def reached(definitions: Definitions, names: Iterable[str]) -> set[str]:
    """Return the names that code uses, sooner or later: its own, and those of what it uses.

    Args:
        definitions: the body that the code is in.
        names: the names that the code itself has.
    """
    found: set[str] = set()
    unread = list(names)
    while unread:
        name = unread.pop()
        if name in found:
            continue
        if name in definitions.named:
            unread += used_in(definitions.named[name])
        found.add(name)
    return found


def used_in(node: ast.stmt) -> set[str]:
    """Return the names that a definition reads from its module, as if it stood there.

    Args:
        node: the definition.
    """
    return used_names(ast.unparse(node))
