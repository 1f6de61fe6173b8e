"""Makes changes in the text of a module, as its author would write them."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent, indent

from patchkit.analysis.check.edit_sequence import edited
from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.module_tree import lines_of
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.unpacking import element_text, values_by_name
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.core.rows.declaration import Add, AddField, Change, Edit, Replace
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError

_IMPORTS = (ast.Import, ast.ImportFrom)
_STATEMENTS_THAT_SET = (ast.Assign, ast.If, ast.Try)


@dataclass
class ModuleText:
    """A module of a release, changed step by step.

    Args:
        path: the path of the file in its release.
        text: the text of the module, as it is by now; its lines end with a newline alone.
        changed: the names that changes of the same row define.
    """

    path: str
    text: str
    changed: frozenset[str] = frozenset()

    def make(self, change: Change, qualname: str, body: Definitions) -> None:
        """Make one change of what a statement defines.

        Args:
            change: the change.
            qualname: the qualified name of what is changed, or added.
            body: the module that has the objects that changes name.

        Raises:
            ScaffoldError: the text cannot say what the change does.
            TargetError: an Edit does not fit the text of its function.
        """
        if isinstance(change, Edit):
            module = self.read()
            node = module.defined(qualname)
            first, last = _span(node)
            text = edited(change, module.text(node))
            self._put(first, last, text)
        elif isinstance(change, AddField):
            self._add_field(change, qualname, body)
        elif isinstance(change, (Add, Replace)):
            self._transplant(change, qualname, body)
        else:
            raise ScaffoldError(f"{change.kind} has no text of its own")

    def read(self) -> Definitions:
        """Return what the text defines by now."""
        return Definitions.of(self.path, self.text.encode())

    def _put(self, first: int, last: int, text: str) -> None:
        """Put a text in the place of lines, from `first` to `last`; before `first` if it is later.

        Lines are counted from 1.
        """
        lines = self.text.split("\n")
        new_lines = text.rstrip("\n").split("\n")
        lines[first - 1 : last] = new_lines
        self.text = "\n".join(lines)

    def _put_before(self, line: int, text: str) -> None:
        """Put a text before a line."""
        self._put(line, line - 1, text)

    def _transplant(
        self, change: Add | Replace, qualname: str, body: Definitions
    ) -> None:
        """Write a definition of a body into the module, with what it uses."""
        module = self.read()
        owner, _, last = qualname.rpartition(".")
        is_only_imported = change.by in body.imports and change.by not in body.named
        if change.by == qualname and is_only_imported:
            self._import(module, body.imports[change.by])
            return
        new = body.defined(change.by)
        text = body.renamed(change.by, last)
        if isinstance(change, Replace):
            self._replace(module, qualname, new, text, body)
        else:
            self._add(module, owner, text)
        used = names_in(new) - {change.by}
        self._bring(used, body, qualname)

    def _add(self, module: Definitions, owner: str, text: str) -> None:
        """Put a definition at the end of a class, or of the module where `owner` is ''."""
        members: Sequence[ast.stmt] = module.tree.tree.body
        separation = "\n\n"
        if owner:
            owner_class = module.defined(owner)
            members = getattr(owner_class, "body", [])
            separation = "\n"
        last_member = members[-1]
        margin = " " * last_member.col_offset
        member = separation + indent(text, margin)
        self._put_before(_line_after(last_member), member)

    def _replace(
        self,
        module: Definitions,
        qualname: str,
        new: ast.stmt,
        text: str,
        body: Definitions,
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
            raise ScaffoldError(
                f"more than one statement of {module.tree.path} sets {qualname}"
            )
        margin = " " * old.col_offset
        indented = indent(text, margin)
        if qualname not in module.set_together:
            first, last = _span(old)
            if _decorators(old) and not _decorators(new):
                first = old.lineno  # a plain function stands for a method of any kind
            self._put(first, last, indented)
            return
        values = values_by_name(old)
        _, _, name = qualname.rpartition(".")
        old_value = values.get(name)
        new_value = getattr(new, "value", None)
        if (
            old_value
            and isinstance(new_value, ast.expr)
            and names_in(new_value).isdisjoint(values)
        ):
            element = element_text(body.tree.source, new_value)
            self._replace_value(module, old_value, element)
        elif not _has_lines_of_its_own(module, old):
            raise ScaffoldError(f"it shares its lines with other code than {qualname}")
        else:
            self._put_before(_line_after(old), indented)

    def _replace_value(self, module: Definitions, old: ast.expr, text: str) -> None:
        """Put a text in the place of a value of an assignment."""
        source = module.tree.source
        start, end = span(source, old)
        changed = rewritten(source, lambda _: [(start, end, text)])
        self.text = changed.decode()

    def _bring(self, names: Iterable[str], body: Definitions, user: str) -> None:
        """Give a definition what it uses of its body: imports, and definitions before it.

        Args:
            names: the names that the definition uses.
            body: the module that the definition is from.
            user: the qualified name of the definition in the module.

        Raises:
            ScaffoldError: the module has another thing of such a name, or the body sets one in a
                way that cannot be moved.
        """
        used = set(names) - self.changed
        defined_in_body = {*body.named, *body.imports}
        set_in_body: set[str] = set()
        for node in body.unnamed:
            if isinstance(node, _STATEMENTS_THAT_SET):
                set_in_body.update(stored(node))
        immovable = (set_in_body & used) - defined_in_body
        if immovable:
            raise ScaffoldError(
                f"it uses {min(immovable)}, which no plain assignment alone sets"
            )
        for name in sorted(defined_in_body & used):
            self._bring_name(name, body, user)

    def _bring_name(self, name: str, body: Definitions, user: str) -> None:
        """Give a definition one name of its body; see `_bring`."""
        module = self.read()
        if (
            name in module.named
            or name in module.set_together
            or name in module.imports
        ):
            if not _is_same(name, module, body):
                raise ScaffoldError(f"it uses another {name} than the module has")
        elif name in body.named:
            top = user.partition(".")[0]
            setters = module.setters(top)
            first_lines = [_span(setter)[0] for setter in setters]
            first = min(first_lines)
            text = body.renamed(name, name)
            self._put_before(first, f"{text}\n\n")
            used = names_in(body.named[name]) - {name}
            self._bring(used, body, name)
        else:
            self._import(module, body.imports[name], name, user)

    def _import(
        self, module: Definitions, statement: str, name: str = "", user: str = ""
    ) -> None:
        """Write an import where it is needed.

        It is inside of a function, which makes no circle, unless the function's header needs it.

        Args:
            module: what the text defines by now.
            statement: the import.
            name: the name that it binds.
            user: the qualified name of what uses it; '' for the module.
        """
        node = module.named.get(user)
        if isinstance(node, DEFS) and not _is_in_header(name, node):
            first_statement = _first_statement(node)
            margin = " " * first_statement.col_offset
            self._put_before(first_statement.lineno, indent(statement, margin))
            return
        line = 1
        for member in module.tree.tree.body:
            if isinstance(member, _IMPORTS):
                line = max(line, _line_after(member))
        self._put_before(line, statement)

    def _add_field(self, change: AddField, qualname: str, body: Definitions) -> None:
        """Write a field of a dataclass after the last that it has; else after its first statement.

        Args:
            change: the change.
            qualname: the qualified name of the class.
            body: the module that has what the type of the field names.
        """
        node = self.read().defined(qualname)
        members: list[ast.stmt] = getattr(node, "body", [node])
        last_field = members[0]
        for member in members:
            if isinstance(member, ast.AnnAssign):
                last_field = member
        default = f"default={change.default!r}"
        if isinstance(change.default, (list, dict, set)):
            # Each instance gets its own.
            default = f"default_factory=lambda: {change.default!r}"
        annotation = change.type
        if not isinstance(annotation, str):
            annotation = annotation.__name__
        text = (
            f"{change.name}: {annotation} = dataclasses.field({default}, kw_only=True)"
        )
        margin = " " * members[0].col_offset
        indented = indent(text, margin)
        self._put_before(_line_after(last_field), indented)
        module = self.read()
        if "dataclasses" not in module.imports:
            self._import(module, "import dataclasses")
        used = names_in(ast.parse(annotation))
        self._bring(used, body, qualname)


def _span(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, decorators included."""
    return lines_of([node]) or (0, 0)


def _decorators(node: ast.stmt) -> list[ast.expr]:
    """Return the decorators of a definition; none for any other statement."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return decorators


def _line_after(node: ast.stmt) -> int:
    """Return the line that follows a statement."""
    _, last = _span(node)
    return last + 1


def _has_lines_of_its_own(module: Definitions, node: ast.stmt) -> bool:
    """Whether no other statement is on the lines of one."""
    text = dedent(module.text(node))
    tree, _ = parse(text.encode())
    return len(tree.body) == 1


def _is_in_header(name: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function uses a name as it is defined: in its parameters or its decorators."""
    for part in ast.iter_child_nodes(function):
        if not isinstance(part, ast.stmt) and name in names_in(part):
            return True
    return False


def _first_statement(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """Return the statement that comes first in a function, after its docstring if it has both."""
    has_docstring = ast.get_docstring(function) is not None
    if has_docstring and len(function.body) > 1:
        return function.body[1]
    return function.body[0]


def _is_same(name: str, module: Definitions, body: Definitions) -> bool:
    """Whether a name of a body is the module's: `import a` is that of `import a.b`."""
    if name in body.named:
        node = module.named.get(name)
        if node is None:
            return False
        body_node = body.named[name]
        return of_nodes([node]) == of_nodes([body_node])
    body_import = body.imports[name]
    module_import = module.imports.get(name, "")
    if _is_module_import(body_import) and _is_module_import(module_import):
        return True
    return body_import in (module_import, f"from {module.tree.name} import {name}")


def _is_module_import(statement: str) -> bool:
    """Whether a statement imports a module, under no other name."""
    return re.fullmatch(r"import [\w.]+", statement) is not None


def with_moved(text: str, moved: Mapping[Target, Target]) -> str:
    """Return a text with `from … import …` of names that have moved; they are bound as before.

    Args:
        text: the text of a module.
        moved: where names are now, by where they were.
    """

    def changes(content: bytes) -> Iterator[TextChange]:
        tree, _ = parse(content)
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            statements = _statements(node, moved)
            if not statements:
                continue
            start, end = span(content, node)
            start_of_line = content.rfind(b"\n", 0, start) + 1
            before = content[start_of_line:start].decode()
            separator = f"\n{before}"
            if before.strip():  # behind other code, the statements stay on the line
                separator = "; "
            text_of_imports = separator.join(statements)
            yield start, end, text_of_imports

    return rewritten(text.encode(), changes).decode()


def _statements(node: ast.ImportFrom, moved: Mapping[Target, Target]) -> list[str]:
    """Write an import as one of what has stayed, and one for each name that has moved.

    Args:
        node: the import.
        moved: where names are now, by where they were.

    Returns:
        The statements; none where no name has moved, or the import is relative.
    """
    if not node.module or node.level:
        return []
    stayed: list[ast.alias] = []
    imports: list[ast.ImportFrom] = []
    for alias in node.names:
        submodule = Target(f"{node.module}.{alias.name}")
        member = Target(node.module, alias.name)
        target = moved.get(member) or moved.get(submodule)
        if target is None:
            stayed.append(alias)
            continue
        dotted_target = str(target).replace(":", ".")
        module, _, name = dotted_target.rpartition(".")
        bound = alias.asname or alias.name
        new_alias = ast.alias(name)
        if bound != name:
            new_alias = ast.alias(name, bound)
        imports.append(ast.ImportFrom(module, [new_alias], 0))
    if not imports:
        return []
    if stayed:
        remainder = ast.ImportFrom(node.module, stayed, 0)
        imports.insert(0, remainder)
    return [ast.unparse(statement) for statement in imports]
