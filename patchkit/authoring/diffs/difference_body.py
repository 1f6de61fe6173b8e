"""Writes the body of the row that turns one version of a module into another."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from patchkit.authoring.diffs.changed_imports import binds
from patchkit.authoring.diffs.module_reads import (
    name_for_module,
    reading_at_calls,
    rebindable_names,
)
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.global_names import names_at_import, used_names
from patchkit.core.rows.target import Item
from patchkit.errors import ScaffoldError

_PARTS_OF_PROPERTY = ("fset", "fdel")


@dataclass
class DifferenceBody:
    """The body: definitions of the new version, and the imports that they need.

    Args:
        before: The definitions of the old version.
        after: The definitions of the new version.
        imports: The import statements, by the name that each binds.
        parts: The texts of the definitions, by name.
    """

    before: Definitions
    after: Definitions
    imports: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    _lines: dict[str, int] = field(default_factory=dict)  # in the new version, by name

    @cached_property
    def _module_name(self) -> str:
        """The name of upstream's module in the body."""
        return name_for_module(self.after)

    @cached_property
    def _rebindable(self) -> set[str]:
        """The names of upstream's module that functions of the body read from it at each call."""
        return rebindable_names(self.before) | rebindable_names(self.after)

    @property
    def text(self) -> str:
        """The text of the body; '' where no change takes anything from it."""
        if not self.imports and not self.parts:
            return ""
        imports = {
            statement
            for name, statement in self.imports.items()
            if name not in self.parts
        }
        lines = "\n".join(sorted(imports))
        head = f"from __future__ import annotations\n\n{lines}".strip()
        # In the order of the new text, as a value may be made from one that stands above it.
        names = sorted(self.parts, key=self._lines.__getitem__)
        parts = [self.parts[name] for name in names]
        return "\n\n\n".join([head, *parts]) + "\n"

    def write(self, name: str) -> str:
        """Write a definition of the new version, with the imports that it needs.

        Args:
            name: Its qualified name there.

        Returns:
            Its name in the body: `run` for `Engine.run`, or `Engine_run` where `run` is taken.

        Raises:
            ScaffoldError: It cannot stand outside of its class, such as the setter of a property.
        """
        node = self.after.named[name]
        owner = name.rpartition(".")[0]
        own_name = name.rpartition(".")[2]
        if own_name in _PARTS_OF_PROPERTY:
            raise ScaffoldError("part of a property can be edited, not replaced")
        if owner:
            self._refuse_names_of_class(owner, node)
        by = own_name
        taken_names = {*self.parts, *self.after.named, *self.after.imports}
        if owner and own_name in taken_names:
            by = name.replace(".", "_")
        text = self.after.moved_out(name, by)
        text = reading_at_calls(text, self._rebindable, self._module_name)
        self.import_names(used_names(text) - {by})
        self.parts[by] = text
        self._lines[by] = node.lineno
        return by

    def write_value(self, table: str, keys: Iterable[object], value: ast.expr) -> str:
        """Write the value of an item of a table, with the imports that it needs.

        Args:
            table: The qualified name of the table.
            keys: The keys that lead to the item.
            value: The value in the new version.

        Returns:
            The name of the value in the body: `MODELS_Llama` for `MODELS['Llama']`.
        """
        qualname = table
        for key in keys:
            qualname += str(Item(key))
        name = re.sub(r"\W+", "_", qualname).rstrip("_")
        while name in self.parts or name in self.after.named:
            name += "_"
        source = self.after.tree.source.decode(errors="replace")
        text = ast.get_source_segment(source, value) or ""
        if not _is_expression(text, value):
            # It stands nowhere in the source: it was made from the items of another table.
            text = ast.unparse(value)
        if "\n" in text:  # in brackets, its further lines may begin anywhere
            text = f"({text})"
        part = f"{name} = {text}"
        part = reading_at_calls(part, self._rebindable, self._module_name)
        self.import_names(used_names(part))
        self.parts[name] = part
        self._lines[name] = value.lineno
        return name

    def import_names(self, names: Iterable[str]) -> None:
        """Import names: as the new version does, or from the module that defines them.

        Args:
            names: The names that the body's code uses.
        """
        for name in sorted(names):
            if name == self._module_name:
                statement = f"import {self.before.tree.name} as {name}"
                self.imports[name] = statement
            elif name in self.after.imports:
                self.imports[name] = self.after.imports[name]
            elif binds(self.before, name):
                self.imports[name] = f"from {self.before.tree.name} import {name}"

    def _refuse_names_of_class(self, owner: str, node: ast.stmt) -> None:
        """Raise ScaffoldError if what stands in a class uses names of that as it is made.

        Of a function, these are its defaults and decorators.
        """
        names = names_at_import(node, with_annotations=False)
        for name in sorted(names):
            if f"{owner}.{name}" in self.after.binders:
                raise ScaffoldError(f"it uses {name}, which is a name of its class")


def _is_expression(text: str, value: ast.expr) -> bool:
    """Whether a text is that of a given expression."""
    try:
        parsed = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return False
    return ast.dump(parsed) == ast.dump(value)
