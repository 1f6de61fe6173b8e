"""A module's text with a row's changes made in it, as upstream would write them."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent

from patchkit.adopt.definitions import Definitions, names_in
from patchkit.check.judge import edited
from patchkit.errors import ScaffoldError
from patchkit.rows.declaration import Add, AddField, Change, Edit, Replace
from patchkit.upstream.fingerprint import of_nodes
from patchkit.upstream.resolving.module_tree import lines_of
from patchkit.upstream.resolving.syntax import DEFS, SCOPES

_IMPORTS = (ast.Import, ast.ImportFrom)
_OTHER = "it uses another {} than the module has"


@dataclass
class ModuleText:
    """A module of a release, changed step by step; ScaffoldError for what text cannot say."""

    path: str
    text: str
    changed: frozenset[str] = frozenset()  # names that changes of the same row define

    def make(self, change: Change, qualname: str, body: Definitions | None) -> None:
        """Make one change of what a statement defines under a qualified name."""
        if isinstance(change, Edit):
            found = self._read()
            node = _defined(found, qualname)
            self._put(found, _span(node), edited(change, found.text(node)))
        elif isinstance(change, AddField):
            self._add_field(change, qualname, body)
        elif isinstance(change, (Add, Replace)) and body:
            self._transplant(change, qualname, body)
        else:
            raise ScaffoldError(f"{change.kind} has no text of its own")

    def _read(self) -> Definitions:
        return Definitions.of(self.path, self.text.encode())

    def _put(self, found: Definitions, span: tuple[int, int], text: str) -> None:
        lines = found.tree.source.decode().split("\n")
        lines[span[0] - 1 : span[1]] = text.rstrip("\n").split("\n")
        self.text = "\n".join(lines)

    def _transplant(self, change: Add | Replace, qualname: str, body: Definitions) -> None:
        found, (owner, _, last) = self._read(), qualname.rpartition(".")
        if change.by == qualname and change.by in body.imports.keys() - body.named.keys():
            self._import(found, body.imports[change.by])
            return
        new = _defined(body, change.by)
        text = body.renamed(change.by, last)
        if isinstance(change, Replace):
            old = _defined(found, qualname)
            first, end = _span(old)
            if _marks(old) and not _marks(new):  # a plain function stands for a method of any kind
                first = old.lineno
            text = indent(text, " " * old.col_offset)
        elif owner:
            members = getattr(_defined(found, owner), "body", [])
            text = indent(text, " " * members[-1].col_offset)
            first, end, text = *_after(members[-1]), f"\n{text}"
        else:
            first, end, text = *_after(found.tree.tree.body[-1]), f"\n\n{text}"
        self._put(found, (first, end), text)
        self._bring(names_in(new) - {change.by}, body, qualname)

    def _bring(self, names: Iterable[str], body: Definitions, qualname: str) -> None:
        """Give a moved definition what it uses of its body: imports, and definitions beside it."""
        for name in sorted(set(names) - self.changed):
            found = self._read()
            imported = None if name in body.named else body.imports.get(name)
            own = f"from {found.tree.name} import {name}"
            if name in found.named or name in found.imports:
                theirs = found.imports.get(name, "")
                if not _is_same(imported, theirs, own) or _differs(name, found, body):
                    raise ScaffoldError(_OTHER.format(name))
            elif imported:
                self._import(found, imported, name, qualname)
            elif name in body.named:
                first = _span(_defined(found, qualname.partition(".")[0]))[0]
                text = body.renamed(name, name)
                self._put(found, (first, first - 1), f"{text}\n\n")
                self._bring(names_in(body.named[name]) - {name}, body, name)

    def _import(self, found: Definitions, statement: str, name: str = "", user: str = "") -> None:
        """Import inside of a function, which makes no circle, unless its header needs the name."""
        node = found.named.get(user)
        if isinstance(node, DEFS) and name not in names_in(_header(node)):
            at = node.body[int(len(node.body) > 1 and _is_text(node.body[0]))]
            first, text = at.lineno, indent(statement, " " * at.col_offset)
        else:
            imports = (one for one in found.tree.tree.body if isinstance(one, _IMPORTS))
            first, text = max((_after(one)[0] for one in imports), default=1), statement
        self._put(found, (first, first - 1), text)

    def _add_field(self, change: AddField, qualname: str, body: Definitions | None) -> None:
        found = self._read()
        of = _defined(found, qualname)
        members: list[ast.stmt] = getattr(of, "body", [of])
        fields = [one for one in members if isinstance(one, ast.AnnAssign)]
        is_shared = isinstance(change.default, (list, dict, set))
        default = f"default{'_factory=lambda: ' if is_shared else '='}{change.default!r}"
        type_ = change.type if isinstance(change.type, str) else change.type.__name__
        text = f"{change.name}: {type_} = dataclasses.field({default}, kw_only=True)"
        margin = " " * members[0].col_offset
        self._put(found, _after((fields or members[:1])[-1]), indent(text, margin))
        found = self._read()
        if "dataclasses" not in found.imports:
            self._import(found, "import dataclasses")
        if body:
            self._bring(names_in(ast.parse(type_)) & body.imports.keys(), body, qualname)


def _defined(found: Definitions, name: str) -> ast.stmt:
    if name not in found.named:
        raise ScaffoldError(f"no statement of {found.tree.path} alone defines {name}")
    return found.named[name]


def _span(node: ast.stmt) -> tuple[int, int]:
    first, last = lines_of([node]) or (0, 0)
    return first, last


def _after(node: ast.stmt) -> tuple[int, int]:
    return _span(node)[1] + 1, _span(node)[1]


def _marks(node: ast.stmt) -> list[ast.expr]:
    return node.decorator_list if isinstance(node, SCOPES) else []


def _header(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    returns = [node.returns] if node.returns else []
    return ast.Tuple([*node.decorator_list, *returns, ast.Lambda(node.args, ast.Constant(0))])


def _is_same(imported: str | None, theirs: str, own: str) -> bool:
    """Whether a body's import gives what the module has: `import a` is that of `import a.b`."""
    plain = all(re.fullmatch(r"import [\w.]+", one) for one in (imported or "", theirs))
    return plain or imported in (None, own, theirs)


def _differs(name: str, found: Definitions, body: Definitions) -> bool:
    if name not in body.named:
        return False
    return name not in found.named or of_nodes([found.named[name]]) != of_nodes([body.named[name]])


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
