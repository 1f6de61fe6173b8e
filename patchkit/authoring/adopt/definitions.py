"""What a module's text defines, by qualname, each with its own text."""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree, lines_of, module_name
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, dotted, is_private
from patchkit.authoring.adopt.unpacking import names_set_together
from patchkit.errors import ScaffoldError, UpstreamError

_OF_MODULE = {"__file__", "__package__", "__spec__", "globals"}
_PARTS = {"setter": ".fset", "deleter": ".fdel"}


@dataclass
class Definitions:
    """A module: what it defines and what it imports, by the name that is bound; and all else.

    Args:
        tree: the module.
        named: what one statement alone defines.
        imports: a statement for each import.
        others: the statements that define nothing, or several things.
        set_together: of those, the assignments that set several names, by each of the names.
    """

    tree: ModuleTree
    named: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    others: list[ast.stmt] = field(default_factory=list)
    set_together: dict[str, list[ast.Assign]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str, text: bytes) -> "Definitions":
        """Read a file; raises UpstreamError where it cannot be parsed."""
        text = text.replace(b"\r\n", b"\n")
        tree, fault = parse(text)
        if fault:
            raise UpstreamError(f"{path}: {fault}")
        found = cls(ModuleTree(module_name(path), path, path.endswith("__init__.py"), tree, text))
        found._read(tree.body, "")
        return found

    def _read(self, body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            name = f"{prefix}{_name_of(node)}"
            if isinstance(node, (ast.Import, ast.ImportFrom)) and not prefix:
                self.imports.update(_imports_of(node, self.tree))
            elif name == prefix or name in self.named:
                self.others.append(node)
                if isinstance(node, ast.Assign):
                    for shared in names_set_together(node):
                        self.set_together.setdefault(f"{prefix}{shared}", []).append(node)
            else:
                self.named[name] = node
                if isinstance(node, ast.ClassDef):
                    self._read(node.body, f"{name}.")

    def defined(self, name: str) -> ast.stmt:
        """Return the statement that defines a name; ScaffoldError where none alone does."""
        if name not in self.named:
            raise ScaffoldError(f"no statement of {self.tree.path} alone defines {name}")
        return self.named[name]

    def setters(self, name: str) -> list[ast.stmt]:
        """List the statements that set a name, alone or together with others.

        Raises:
            ScaffoldError: no statement does.
        """
        shared: list[ast.stmt] = [*self.set_together.get(name, [])]
        if name in self.named or not shared:
            shared.append(self.defined(name))
        return shared

    def text(self, node: ast.stmt) -> str:
        """Quote a statement, with its decorators."""
        first, last = lines_of([node]) or (0, 0)
        return "\n".join(self.tree.source.decode(errors="replace").split("\n")[first - 1 : last])

    def moved_out(self, name: str, by: str) -> str:
        """Write a definition as a body has it, under another name, outside of its class.

        Raises ScaffoldError, with the reason, where it cannot stand there.
        """
        node, owner = self.defined(name), name.rpartition(".")[0]
        inside = list(ast.walk(node))
        used = (getattr(one, "attr", getattr(one, "id", "")) for one in inside)
        private = [one for one in used if is_private(one)]
        if owner and private:
            raise ScaffoldError(f"it uses {private[0]}, which is private to its class")
        if shared := [one.names for one in inside if isinstance(one, ast.Global)]:
            raise ScaffoldError(f"it sets {shared[0][0]}, a global of its module")
        if bound := names_in(node) & _OF_MODULE:
            raise ScaffoldError(f"it uses {min(bound)}, which is of its module")
        text = self.renamed(name, by)
        text = re.sub(r"(?<![.\w])__name__\b", f'"{self.tree.name}"', text)
        if owner and isinstance(node, DEFS):
            first = [one.arg for one in (*node.args.posonlyargs, *node.args.args)][:1]
            text = re.sub(r"\bsuper\(\)", f"super({', '.join([owner, *first])})", text)
        return text

    def renamed(self, name: str, by: str) -> str:
        """Write a definition under another name, not indented.

        Raises ScaffoldError where it shares its lines with other code.
        """
        last = name.rpartition(".")[2]
        text = dedent(self.text(self.defined(name)))
        text = re.sub(rf"(?m)^((?:async )?def |class |){last}\b", rf"\g<1>{by}", text, count=1)
        if len(parse(text.encode())[0].body) != 1:
            raise ScaffoldError("it cannot be taken out of its lines")
        return text


def _imports_of(node: ast.Import | ast.ImportFrom, tree: ModuleTree) -> Mapping[str, str]:
    """Write a statement as one for each name that it binds, whole names of modules in them."""
    found = {}
    for one in node.names:
        new: ast.stmt = ast.Import([one])
        if isinstance(node, ast.ImportFrom):
            new = ast.ImportFrom(tree.absolute(node.module, node.level), [one], 0)
        found[one.asname or one.name.partition(".")[0]] = ast.unparse(new)
    return found


def names_in(node: ast.AST) -> set[str]:
    """List the names that code reads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _name_of(node: ast.stmt) -> str:
    """Name what a statement defines; '' for what defines nothing, or several things."""
    if isinstance(node, SCOPES):
        ends = [dotted(one).rpartition(".")[2] for one in node.decorator_list]
        part = "".join(_PARTS.get(one, "") for one in ends)
        return "" if "overload" in ends else f"{node.name}{part}"
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    is_plain = isinstance(node, (ast.Assign, ast.AnnAssign)) and len(targets) == 1
    return dotted(targets[0]) if is_plain and isinstance(targets[0], ast.Name) else ""


def is_check(node: ast.AST) -> bool:
    """Whether it asserts that something is something."""
    test = node.test if isinstance(node, ast.Assert) else None
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is)
