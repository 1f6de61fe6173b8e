"""Reads what a module's text defines, by qualified name, each with its own text."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.module_tree import (
    ModuleTree,
    lines_of,
    module_name,
)
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    dotted,
    statements,
)
from patchkit.authoring.scaffold.source_edits import offset, span
from patchkit.authoring.source.global_names import bound_names, private_name
from patchkit.authoring.source.indents import dedented
from patchkit.errors import ScaffoldError, UpstreamError

_OF_MODULE = {"__file__", "__package__", "__spec__", "globals"}
"""Names that mean something else in another module."""
IMPORTS = (ast.Import, ast.ImportFrom)
PARTS_OF_PROPERTY = {"setter": ".fset", "deleter": ".fdel"}
"""What the qualified name of a part of a property ends with, by the end of its decorator."""


@dataclass
class Definitions:
    """A module: what it defines and what it imports, by the name that is bound; and all else.

    Args:
        tree: the module.
        named: for each qualified name, the one statement that defines it and nothing else.
        imports: for each name that is imported, a statement that imports it alone.
        unnamed: the statements that define nothing, or more than one thing, in their order.
    """

    tree: ModuleTree
    named: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    unnamed: list[ast.stmt] = field(default_factory=list)

    @classmethod
    def of(cls, path: str, text: bytes) -> "Definitions":
        """Return what a file defines.

        Args:
            path: the path of the file in its release, which says the name of the module.
            text: what the file has in it.

        Raises:
            UpstreamError: the text cannot be parsed.
        """
        text = text.replace(b"\r\n", b"\n")
        tree, fault = parse(text)
        if fault:
            raise UpstreamError(f"{path}: {fault}")
        is_package = path.endswith("__init__.py")
        name = module_name(path)
        module = ModuleTree(name, path, is_package, tree, text)
        definitions = cls(module)
        definitions._sort(tree.body, prefix="")
        return definitions

    def _sort(self, body: Iterable[ast.stmt], prefix: str) -> None:
        """Put each statement into `named`, `imports` or `unnamed`, those in classes included.

        Args:
            body: the statements of the module, or of a class in it.
            prefix: the qualified name of the class and a dot; '' for the module.
        """
        for node in body:
            defined = name_of(node)
            name = f"{prefix}{defined}"
            if isinstance(node, IMPORTS) and not prefix:
                self.imports.update(imports_of(node, self.tree))
            elif not defined or not self._can_define(name, node):
                self.unnamed.append(node)
            else:
                self._forget(name)
                self.named[name] = node
                if isinstance(node, ast.ClassDef):
                    inner_prefix = f"{name}."
                    self._sort(node.body, inner_prefix)

    def _can_define(self, name: str, node: ast.stmt) -> bool:
        """Whether a statement alone says what a name is in the end.

        After an earlier one of that name, it does if both define functions or classes.
        """
        earlier = self.named.get(name)
        if earlier is None:
            return True
        return isinstance(earlier, SCOPES) and isinstance(node, SCOPES)

    def _forget(self, name: str) -> None:
        """Take a definition and its members out of `named`, as a later one has their name."""
        earlier = self.named.get(name)
        if earlier is None:
            return
        # Its decorators may have kept it, as in a registry.
        if isinstance(earlier, SCOPES) and earlier.decorator_list:
            self.unnamed.append(earlier)
        for member in [*self.named]:
            if member == name or member.startswith(f"{name}."):
                del self.named[member]

    def add_conditional(self) -> None:
        """Add definitions in an `if` or `try` to `named`, if other statements only set None there.

        So `flash = None` may stand in the `except` for the `def flash` in the `try`.
        """
        nodes_by_name: dict[str, list[ast.stmt]] = {}
        for node in statements(self.tree.tree.body):
            nodes_by_name.setdefault(name_of(node), []).append(node)
        for name, nodes in nodes_by_name.items():
            if not name or name in self.named:
                continue
            definitions = [node for node in nodes if isinstance(node, SCOPES)]
            assignments = [node for node in nodes if not isinstance(node, SCOPES)]
            if len(definitions) == 1 and all(map(_is_none, assignments)):
                self._sort(definitions, prefix="")

    @cached_property
    def binders(self) -> dict[str, list[ast.stmt]]:
        """For each qualified name, the statements of its module or class that bind it."""
        blocks: dict[str, list[ast.stmt]] = {"": self.tree.tree.body}
        for name, node in self.named.items():
            if isinstance(node, ast.ClassDef):
                blocks[f"{name}."] = node.body
        binders: dict[str, list[ast.stmt]] = {}
        for prefix, body in blocks.items():
            for node in body:
                names = bound_names(node)
                if isinstance(node, SCOPES):
                    names = {name_of(node)} - {""}  # an overload binds nothing
                for name in names:
                    binders.setdefault(f"{prefix}{name}", []).append(node)
        return binders

    def defined(self, name: str) -> ast.stmt:
        """Return the statement that defines a name.

        Args:
            name: the qualified name.

        Raises:
            ScaffoldError: no statement alone defines it.
        """
        if name not in self.named:
            raise ScaffoldError(
                f"no statement of {self.tree.path} alone defines {name}"
            )
        return self.named[name]

    def setter(self, name: str) -> ast.stmt:
        """Return the statement that sets a name, alone or together with others.

        Args:
            name: the qualified name.

        Raises:
            ScaffoldError: there are several, or none.
        """
        statements = self.binders.get(name, [])
        if len(statements) > 1:
            raise ScaffoldError(
                f"more than one statement of {self.tree.path} sets {name}"
            )
        if statements and name not in self.named:
            statement = statements[0]
            if isinstance(statement, ast.Assign):  # as in `A, B = 1, 2`
                return statement
        return self.defined(name)

    def text(self, node: ast.stmt) -> str:
        """Return the text of a statement, with its decorators.

        Args:
            node: the statement.
        """
        first, last = lines_of([node]) or (0, 0)
        source = self.tree.source.decode(errors="replace")
        lines = source.split("\n")
        lines_of_statement = lines[first - 1 : last]
        return "\n".join(lines_of_statement)

    def moved_out(self, name: str, by: str) -> str:
        """Return a definition as a body has it, under another name, outside of its class.

        Args:
            name: the qualified name of the definition.
            by: its name in the body.

        Raises:
            ScaffoldError: it cannot stand there, for the reason that the error gives.
        """
        node = self.defined(name)
        owner = name.rpartition(".")[0]
        is_in_class = bool(owner)
        _refuse_immovable(node, is_in_class=is_in_class)
        text = self.renamed(name, by)
        # In the body, `__name__` would be that of the body.
        module_literal = f'"{self.tree.name}"'
        text = re.sub(r"(?<![.\w])__name__\b", module_literal, text)
        if owner and isinstance(node, DEFS):
            # Outside of its class, `super()` has to be told the class and the instance.
            text = re.sub(r"\bsuper\(\)", _told_super(owner, node), text)
        return text

    def as_in_body(self, name: str, by: str) -> str:
        """Return a definition as `moved_out` does; as it stands if no body could have it so.

        Args:
            name: the qualified name of the definition.
            by: the name that it gets.

        Raises:
            ScaffoldError: it shares its lines with other code.
        """
        try:
            return self.moved_out(name, by)
        except ScaffoldError:
            return self.renamed(name, by)

    def renamed(self, name: str, by: str) -> str:
        """Return a definition under another name, not indented.

        Args:
            name: the qualified name of the definition.
            by: the name that it gets.

        Raises:
            ScaffoldError: it shares its lines with other code.
        """
        node = self.defined(name)
        if not self.has_lines_of_its_own(node):
            raise ScaffoldError("it cannot be taken out of its lines")
        old_name = getattr(node, "name", name.rpartition(".")[2])
        # The first line that begins with `def f`, `async def f`, `class f` or, of a value, `f`.
        return re.sub(
            rf"(?m)^((?:async )?def |class |){old_name}\b",
            rf"\g<1>{by}",
            dedented(self.text(node)),
            count=1,
        )

    def has_lines_of_its_own(self, node: ast.stmt) -> bool:
        """Whether no other statement is on the lines of one.

        Args:
            node: the statement.
        """
        first, last = lines_of([node]) or (0, 0)
        source = self.tree.source
        start_of_lines = offset(source, first, column=0)
        start = offset(source, first, node.col_offset)
        _, end = span(source, node)
        end_of_lines = offset(source, last + 1, column=0)
        if source[start_of_lines:start].strip():  # code stands before it
            return False
        text_after = source[end:end_of_lines].strip()
        return not text_after or text_after.startswith(b"#")


def _told_super(owner: str, method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the `super(Class, self)` of a method that stands outside of its class."""
    arguments = [owner]
    parameters = method.args.posonlyargs + method.args.args
    if parameters:
        instance = parameters[0].arg
        arguments.append(instance)
    shown = ", ".join(arguments)
    return f"super({shown})"


def _refuse_immovable(node: ast.stmt, *, is_in_class: bool) -> None:
    """Raise ScaffoldError for a definition that would do something else in another module."""
    private = private_name(node)
    if is_in_class and private:
        raise ScaffoldError(f"it uses {private}, which is private to its class")
    for part in ast.walk(node):
        if isinstance(part, ast.Global):
            raise ScaffoldError(f"it sets {part.names[0]}, a global of its module")
    names_of_module = names_in(node) & _OF_MODULE
    if names_of_module:
        first_name = min(names_of_module)
        raise ScaffoldError(f"it uses {first_name}, which is of its module")


def imports_of(
    node: ast.Import | ast.ImportFrom, tree: ModuleTree
) -> Iterator[tuple[str, str]]:
    """Write an import as one for each name that it binds, with absolute names of modules.

    Args:
        node: the import.
        tree: the module that it is in.

    Yields:
        The name that is bound, and the statement.
    """
    for alias in node.names:
        statement: ast.stmt = ast.Import([alias])
        if isinstance(node, ast.ImportFrom):
            module = tree.absolute(node.module, node.level)
            statement = ast.ImportFrom(module, [alias], level=0)
        top = alias.name.partition(".")[0]
        bound = alias.asname or top
        yield bound, ast.unparse(statement)


def _is_none(node: ast.stmt) -> bool:
    """Whether an assignment sets None."""
    value = getattr(node, "value", None)
    return isinstance(value, ast.Constant) and value.value is None


def is_for_types(node: ast.stmt) -> bool:
    """Whether a statement is a condition that holds for type checkers alone.

    Args:
        node: the statement.
    """
    test = getattr(node, "test", None)
    return dotted(test).rpartition(".")[2] == "TYPE_CHECKING"


def origin_of(statement: str) -> str:
    """Return the module of an import: `a.b` for `import a.b` and for `from a.b import c`.

    Args:
        statement: the import, as `imports_of` writes it.
    """
    return statement.split()[1]


def names_in(node: ast.AST) -> set[str]:
    """Return the names that code reads or sets.

    Args:
        node: the code.
    """
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            names.add(part.id)
    return names


def name_of(node: ast.stmt) -> str:
    """Return the name of what a statement defines.

    Args:
        node: the statement.

    Returns:
        '' where it defines nothing, or more than one thing.
    """
    if isinstance(node, SCOPES):
        return _name_of_scope(node)
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    if len(targets) != 1:
        return ""
    target = targets[0]
    if isinstance(target, ast.Name):
        return target.id
    return ""


def _name_of_scope(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Name a function or a class; an overload has no name, a setter is a part of its property."""
    name = node.name
    for decorator in node.decorator_list:
        dotted_name = dotted(decorator)
        decorator_name = dotted_name.rpartition(".")[2]
        if decorator_name == "overload":
            return ""
        part = PARTS_OF_PROPERTY.get(decorator_name, "")
        name += part
    return name
