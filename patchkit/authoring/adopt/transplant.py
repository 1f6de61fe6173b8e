"""A module's text with changes made in it, as its author would write them."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import dedent, indent

from patchkit.analysis.check.judge import edited
from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.module_tree import lines_of
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.unpacking import element_text, values_by_name
from patchkit.authoring.scaffold.rows import TextChange, rewritten, span
from patchkit.core.rows.declaration import Add, AddField, Change, Edit, Replace
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError

_IMPORTS = (ast.Import, ast.ImportFrom)
_SETS = (ast.Assign, ast.If, ast.Try)


@dataclass
class ModuleText:
    """A module of a release, changed step by step; ScaffoldError for what text cannot say."""

    path: str
    text: str
    changed: frozenset[str] = frozenset()  # names that changes of the same row define

    def make(self, change: Change, qualname: str, body: Definitions) -> None:
        """Make one change of what a statement defines under a qualified name."""
        if isinstance(change, Edit):
            found = self.read()
            node = found.defined(qualname)
            self._put(*_span(node), edited(change, found.text(node)))
        elif isinstance(change, AddField):
            self._add_field(change, qualname, body)
        elif isinstance(change, (Add, Replace)):
            self._transplant(change, qualname, body)
        else:
            raise ScaffoldError(f"{change.kind} has no text of its own")

    def read(self) -> Definitions:
        """Say what the text defines by now."""
        return Definitions.of(self.path, self.text.encode())

    def _put(self, first: int, last: int, text: str) -> None:
        lines = self.text.split("\n")
        lines[first - 1 : last] = text.rstrip("\n").split("\n")
        self.text = "\n".join(lines)

    def _transplant(self, change: Add | Replace, qualname: str, body: Definitions) -> None:
        found, (owner, _, last) = self.read(), qualname.rpartition(".")
        if change.by == qualname and change.by in body.imports.keys() - body.named.keys():
            self._import(found, body.imports[change.by])
            return
        new, text = body.defined(change.by), body.renamed(change.by, last)
        if isinstance(change, Replace):
            self._replace(found, qualname, new, text, body)
        else:
            members = getattr(found.defined(owner), "body", []) if owner else found.tree.tree.body
            margin = " " * members[-1].col_offset
            self._put(*_after(members[-1]), ("\n" if owner else "\n\n") + indent(text, margin))
        self._bring(names_in(new) - {change.by}, body, qualname)

    def _replace(
        self, module: Definitions, qualname: str, new: ast.stmt, text: str, body: Definitions
    ) -> None:
        """Put a definition in the place of what sets a name.

        Where the name is set together with others, they keep their values: its own value is
        replaced if the assignment has one for each name, and the new one reads none of them; else
        it is set anew on the next line.

        Args:
            module: what the text defines by now.
            qualname: the name that is to be defined otherwise.
            new: the definition, which a module of definitions `body` has.
            text: the same under the new name.
            body: see `new`.
        """
        old, *further = module.setters(qualname)
        if further:
            raise ScaffoldError(f"more than one statement of {module.tree.path} sets {qualname}")
        if qualname not in module.set_together:
            first, end = _span(old)
            if getattr(old, "decorator_list", ()) and not getattr(new, "decorator_list", ()):
                first = old.lineno  # a plain function stands for a method of any kind
            self._put(first, end, indent(text, " " * old.col_offset))
            return
        values = values_by_name(old)
        value = values.get(qualname.rpartition(".")[2])
        new_value = getattr(new, "value", None)
        if value and isinstance(new_value, ast.expr) and names_in(new_value).isdisjoint(values):
            element = element_text(body.tree.source, new_value)
            change = (*span(module.tree.source, value), element)
            self.text = rewritten(module.tree.source, lambda _: [change]).decode()
        elif len(parse(dedent(module.text(old)).encode())[0].body) != 1:
            raise ScaffoldError(f"it shares its lines with other code than {qualname}")
        else:
            self._put(*_after(old), indent(text, " " * old.col_offset))

    def _bring(self, names: Iterable[str], body: Definitions, user: str) -> None:
        """Give a moved definition what it uses of its body: imports, and definitions beside it."""
        others = {name for one in body.others if isinstance(one, _SETS) for name in stored(one)}
        if unsaid := others.intersection(names) - self.changed - {*body.named, *body.imports}:
            raise ScaffoldError(f"it uses {min(unsaid)}, which no plain assignment alone sets")
        for name in sorted({*body.named, *body.imports}.intersection(names) - self.changed):
            found = self.read()
            if name in found.named or name in found.set_together or name in found.imports:
                if not _is_same(name, found, body):
                    raise ScaffoldError(f"it uses another {name} than the module has")
            elif name in body.named:
                setters = found.setters(user.partition(".")[0])
                first = min(_span(setter)[0] for setter in setters)
                self._put(first, first - 1, f"{body.renamed(name, name)}\n\n")
                self._bring(names_in(body.named[name]) - {name}, body, name)
            else:
                self._import(found, body.imports[name], name, user)

    def _import(self, found: Definitions, statement: str, name: str = "", user: str = "") -> None:
        """Import inside of a function, which makes no circle, unless its header needs the name."""
        node = found.named.get(user)
        parts = ast.iter_child_nodes(node) if node else ()
        header = [one for one in parts if not isinstance(one, ast.stmt)]
        if isinstance(node, DEFS) and not any(name in names_in(one) for one in header):
            at = node.body[int(len(node.body) > 1 and ast.get_docstring(node) is not None)]
            first, text = at.lineno, indent(statement, " " * at.col_offset)
        else:
            imports = (one for one in found.tree.tree.body if isinstance(one, _IMPORTS))
            first, text = max((_after(one)[0] for one in imports), default=1), statement
        self._put(first, first - 1, text)

    def _add_field(self, change: AddField, qualname: str, body: Definitions) -> None:
        of = self.read().defined(qualname)
        members: list[ast.stmt] = getattr(of, "body", [of])
        fields = [one for one in members if isinstance(one, ast.AnnAssign)]
        is_shared = isinstance(change.default, (list, dict, set))
        default = f"default{'_factory=lambda: ' if is_shared else '='}{change.default!r}"
        type_ = change.type if isinstance(change.type, str) else change.type.__name__
        text = f"{change.name}: {type_} = dataclasses.field({default}, kw_only=True)"
        margin = " " * members[0].col_offset
        self._put(*_after((fields or members[:1])[-1]), indent(text, margin))
        if "dataclasses" not in (found := self.read()).imports:
            self._import(found, "import dataclasses")
        self._bring(names_in(ast.parse(type_)), body, qualname)


def _span(node: ast.stmt) -> tuple[int, int]:
    return lines_of([node]) or (0, 0)


def _after(node: ast.stmt) -> tuple[int, int]:
    return _span(node)[1] + 1, _span(node)[1]


def _is_same(name: str, module: Definitions, body: Definitions) -> bool:
    """Whether a name of a body is the module's: `import a` is that of `import a.b`."""
    if name in body.named:
        nodes = module.named.get(name), body.named[name]
        return nodes[0] is not None and of_nodes([nodes[0]]) == of_nodes([nodes[1]])
    ours, theirs = body.imports[name], module.imports.get(name, "")
    plain = all(re.fullmatch(r"import [\w.]+", one) for one in (ours, theirs))
    return plain or ours in (theirs, f"from {module.tree.name} import {name}")


def with_moved(text: str, moved: Mapping[Target, Target]) -> str:
    """Rewrite `from … import …` of names that are elsewhere now; the names stay as they are."""

    def edits(content: bytes) -> Iterator[TextChange]:
        for node in ast.walk(parse(content)[0]):
            if isinstance(node, ast.ImportFrom) and (lines := _statements(node, moved)):
                start, end = span(content, node)
                before = content[content.rfind(b"\n", 0, start) + 1 : start].decode()
                yield start, end, ("; " if before.strip() else f"\n{before}").join(lines)

    return rewritten(text.encode(), edits).decode()


def _statements(node: ast.ImportFrom, moved: Mapping[Target, Target]) -> list[str]:
    """Write an import as several, one for each name that has moved; as none where none has."""
    new = [ast.ImportFrom(node.module, list[ast.alias](), 0)]
    for alias in node.names if node.module and not node.level else ():
        whole = Target(f"{node.module}.{alias.name}")
        place = moved.get(Target(node.module or "", alias.name)) or moved.get(whole)
        if place is None:
            new[0].names.append(alias)
            continue
        module, _, name = str(place).replace(":", ".").rpartition(".")
        bound = alias.asname or alias.name
        new.append(ast.ImportFrom(module, [ast.alias(name, bound if bound != name else None)], 0))
    return [ast.unparse(one) for one in new if one.names] if len(new) > 1 else []
