"""Writes a module of a pile as a body: its own text, without the code that patches upstream.

A pile is a package that patches upstream as it is imported. In a body, its statement
`lib.f = make_f()` becomes `for_lib_f = make_f()`, and the row has `by="for_lib_f"`.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.util import decode_source

from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted
from patchkit.authoring.piles.asked_modules import waiting
from patchkit.authoring.piles.guards import bound
from patchkit.authoring.piles.hooks import decorator_text
from patchkit.authoring.piles.pile_files import file_changes
from patchkit.authoring.piles.pile_imports import binds_used_package
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import Placement, is_check
from patchkit.authoring.piles.wrappers import wrapper
from patchkit.authoring.scaffold.source_edits import TextChange
from patchkit.authoring.source.definitions import names_in
from patchkit.authoring.source.text_changes import applied, span

_WHEN = '''def when_{name}():
    """Ask whether this module has set it, as {path}:{line} does."""
    return "{name}" in globals() or "{path}:{line} does not set it here"
'''
_CONDITION = '''def {name}():
    """Ask what {path} asks."""
    return bool(({text})()) or "its condition does not hold"
'''
_VERIFY = '''def {name}():
    """Let the pile's own check raise what is wrong."""
    ({text})()
    return True
'''


class BodyText:
    """The text of a body, made of a pile's module by one change after another.

    Args:
        reader: The reader of the module.
        modules: By module of the pile, the module of the pack that has its code.
        pile: The names of all modules of the pile.
    """

    def __init__(
        self, reader: PileReader, modules: Mapping[str, str], pile: Iterable[str]
    ) -> None:
        self._reader = reader
        self._modules = modules
        self._pile = set(pile)
        self._tree = reader.module.tree
        source = decode_source(reader.module.source)
        self._source = source.encode()
        self._changes: dict[TextChange, None] = {}
        self._value_names: dict[ast.AST, str] = {}
        self._condition_names: dict[tuple[str, str], str] = {}
        self._functions: dict[str, str] = {}
        self._conditional: list[ast.stmt] = []
        self._bound_once = self._names_bound_once()
        definitions = {
            node.name for node in self._tree.body if isinstance(node, SCOPES)
        }
        self._defined_once = definitions & self._bound_once

    def _names_bound_once(self) -> set[str]:
        """Return the names of the module that are bound once, and never rebound or deleted."""
        counts: Counter[str] = Counter()
        for statement in self._tree.body:
            counts.update(bound(statement))
        names = {name for name, count in counts.items() if count == 1}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
                names.discard(node.id)
        rebound = self._reader.module.rebound_in_functions()  # by `global`
        return names.difference(rebound)

    def by(self, placement: Placement) -> tuple[str, str]:
        """Change the text so that a statement binds a name of the body instead of attributes.

        Args:
            placement: The statement that sets attributes.

        Returns:
            The name for `by`, and the name that is bound only if the statement has run, for `when`;
            '' for the latter where the statement always runs.
        """
        name = dotted(placement.value)
        if self._has_name(placement, name):
            # The value has a name of its own, to which the row refers: the statement can go.
            if placement.text.startswith("{}"):  # `{} = value`
                self._cut(placement.statement)
            else:  # a decorator, or a loop that becomes `pass`
                self._cut(placement.node, placement.text)
            # Else it is a decorator in a block or a function: its definition may not have run.
            is_always_set = placement.is_plain or placement.text
            if is_always_set:
                return name, ""
            return name, name
        new_name = self._new_name(placement)
        # The row names a function or class of the module as the module does; then the new name is
        # only for `when`, to tell whether the statement has run.
        by = name if name in self._defined_once else new_name
        if placement.is_plain:
            return by, ""
        return by, new_name

    def _new_name(self, placement: Placement) -> str:
        """Return the name that a statement binds in the body: `for_lib_f` instead of `up.lib.f`.

        The statement is changed, but only once: several placements may be of one loop.
        """
        if placement.node not in self._value_names:
            parts = placement.dotted_names[0].split(".")
            joined = "_".join(parts[-2:])
            identifier = re.sub(r"\W+", "_", joined).strip("_")
            name = self._free(f"for_{identifier}")
            self._value_names[placement.node] = name
            self._assign(placement, name)
        return self._value_names[placement.node]

    def _has_name(self, placement: Placement, name: str) -> bool:
        """Return whether the value of a placement already has a name that the row can refer to.

        Args:
            placement: The placement.
            name: Its value, as a dotted name; '' where it is none.
        """
        top = name.partition(".")[0]
        if top not in self._bound_once:
            return False
        # In `if x: lib.f = f`, the name `f` does not tell whether `x` held, so that `when` needs a
        # new one. A decorated `f` under a condition does: it is bound only where its decorator has
        # run. A loop, of which `pass` is left, always runs: no row is made of any other.
        is_kept_in_module = placement.is_plain or not placement.text
        is_kept = is_kept_in_module and not placement.function
        if not is_kept and placement.text != "pass":
            return False
        # In `a = lib.f = f`, the target `a` has to stay, unless the row sets all of them: then
        # the node is the whole statement.
        targets = getattr(placement.statement, "targets", ())
        sets_nothing_else = len(targets) < 2
        return sets_nothing_else or placement.node is placement.statement

    def _assign(self, placement: Placement, name: str) -> None:
        """Have the body assign the value of a placement to a name, and set nothing of upstream.

        `lib.f = make_f()` becomes `name = make_f()`. The decorator in `@patches(lib.f)` is deleted,
        and `name = f` is written below the function `f`.
        """
        declaration = ""  # in a function, the name has to be a global one
        if placement.function:
            declaration = f"global {name}; "
        if placement.text:  # such as `{} = make_f()`
            text = placement.text.replace("{}", name, 1)
            self._cut(placement.node, declaration + text)
            return
        # It is a decorator.
        self._cut(placement.node)
        statement = placement.statement
        _, end = span(self._source, statement)
        column = getattr(statement, "col_offset", 0)
        margin = " " * column
        value = dotted(placement.value)
        assignment = f"{declaration}{name} = {value}"
        line = f"\n{margin}{assignment}"
        addition = (end, end, line)
        self._changes[addition] = None

    def when(self, placement: Placement, name: str) -> str | None:
        """Write a function for `when` that tells whether the body has bound a name.

        Args:
            placement: The placement that binds it.
            name: The name; '' where the placement always runs.

        Returns:
            The name of the function; None where none is needed.
        """
        if not name.isidentifier():  # '', or a dotted name, of which nothing is known
            return None
        path = self._reader.module.path
        line = placement.statement.lineno
        self._conditional.append(placement.statement)
        function_name = f"when_{name}"
        function = _WHEN.format(name=name, path=path, line=line)
        self._functions[function_name] = function
        return function_name

    def decorator(self, placement: Placement, hook: str) -> str:
        """Write the decorator that calls a hook of SGLang's registry.

        Args:
            placement: The placement of the hook.
            hook: The name of the hook in the body.

        Returns:
            The name of the decorator.
        """
        parts = placement.key.split(".")
        word = re.sub(r"\W+", "_", "_".join(parts[-2:])).lower()
        name = self._free(f"hook_{word}")
        self._functions[name] = decorator_text(placement.hook, name, hook)
        return name

    def asked(self, kind: str, node: ast.expr | None) -> str | None:
        """Write a function for `when` or `verify` that calls a condition or a check of the pile.

        Args:
            kind: The field of the row, `when` or `verify`.
            node: The condition or the check, as an expression; None for none.

        Returns:
            The name of the function; None where none is needed.
        """
        if node is None:
            return None
        text = ast.unparse(node)
        number = len(self._condition_names)
        new_name = f"{kind}_{number}"
        key = (kind, text)
        # One function for all rows that ask the same.
        name = self._condition_names.setdefault(key, new_name)
        template = _VERIFY
        if kind == "when":
            template = _CONDITION
        path = self._reader.module.path
        function = template.format(name=name, text=text, path=path)
        self._functions[name] = function
        return name

    def wrapped(self, placement: Placement, *, is_method: bool) -> bool:
        """Rewrite a replacement that calls its saved original as a wrapper, if that is possible.

        Args:
            placement: The placement by which the function replaces the original.
            is_method: Whether the original is a method.

        Returns:
            Whether it was rewritten.
        """
        try:
            changes = list(
                wrapper(self._reader, self._source, placement, is_method=is_method)
            )
        except SyntaxError:
            return False
        if not changes:
            return False
        self._changes.update(dict.fromkeys(changes))
        dotted_names = list(placement.dotted_names)
        for original in self._reader.saved.values():
            if dotted_names == [original.dotted_name]:
                # `original = lib.f` goes, as a wrapper gets the original as `wrapped`.
                self._cut(original.statement)
        return True

    def _cut(self, node: ast.AST, text: str = "") -> None:
        """Replace a statement or a decorator by other code, or delete it.

        Args:
            node: The statement or the decorator.
            text: The code that replaces it; '' to delete its lines, or to put `pass` where other
                code is on them.
        """
        start, end = span(self._source, node)
        if not text:
            line_start = self._source.rfind(b"\n", 0, start) + 1
            before = self._source[line_start:start]
            behind = self._source[end:]
            code_behind = behind.lstrip(b" \t")
            is_followed = code_behind.startswith(b";")
            if isinstance(node, ast.stmt) and not before and not is_followed:
                # It is alone on its lines, and in no block that would be empty without it: its
                # lines go, with the blank lines below.
                lines_behind = behind.partition(b"\n")[2]
                following_lines = lines_behind.lstrip(b"\n")
                end = len(self._source) - len(following_lines)
            elif before.strip() == b"@":  # a decorator
                start = line_start
                end_of_line = self._source.find(b"\n", end)
                end = end_of_line + 1
            else:
                text = "pass"
        change = (start, end, text)
        self._changes[change] = None

    def _free(self, name: str) -> str:
        """Return a name that the module does not use: the given one, with underscores if needed.

        Names that this class has chosen for values are taken, too.
        """
        taken = set(self._value_names.values())
        while name in taken or self._is_in_source(name):
            name += "_"
        return name

    def _is_in_source(self, name: str) -> bool:
        """Return whether the module's text contains a name, even in a comment."""
        word = name.encode()
        match = re.search(rb"\b%s\b" % word, self._source)
        return match is not None

    def text(self, title: str) -> str:
        """Return the text of the body, with all changes made.

        Relative imports in it are absolute, and modules of the pile are replaced by the pack's.

        Args:
            title: The comment of the first line.
        """
        placements = self._reader.placements
        values = {dotted(placement.value) for placement in placements}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.Import):
                self._import_modules(node)
            # An assertion that the pile has replaced something would fail as the body is imported,
            # which is before the row is applied.
            elif is_check(node) and names_in(node) & values:
                self._cut(node)
        reader, source = self._reader, self._source
        changes = [
            *self._changes,
            *file_changes(reader.module, source, self._free("FILE_OF_PILE")),
            *waiting(reader, source, self._conditional, self._free("wait_for")),
        ]
        changed_source = applied(self._source, changes)
        text = changed_source.decode().rstrip()
        # The body is UTF-8. A blank line moves the module's declaration of another encoding to the
        # third line, where Python ignores it.
        first_line = text.partition("\n")[0]
        gap = ""
        if "coding" in first_line:
            gap = "\n"
        function_texts = self._functions.values()
        functions = "".join(f"\n\n{function}" for function in function_texts)
        return f"# {title}\n{gap}{text}\n{functions}"

    def _import(self, node: ast.ImportFrom) -> None:
        """Rewrite an import: with absolute names, and with modules of the pack for the pile's."""
        base = self._reader.module.absolute(node.module, node.level) or ""
        prefix = f"{base}."
        is_of_pile = any(f"{module}.".startswith(prefix) for module in self._modules)
        if not node.level and not is_of_pile:
            return
        lines = []
        for alias in node.names:
            pile_module = f"{base}.{alias.name}"
            pack_module = self._modules.get(pile_module, "")
            module, _, name = pack_module.rpartition(".")
            new_alias = alias
            # `from pile import lib` becomes `from pack import patch_lib as lib`.
            if name:
                bound_name = alias.asname or alias.name
                new_alias = ast.alias(name, bound_name)
            source = module or base
            # A module that the pack lacks stays the pile's, also where the pack has its package.
            if not module and pile_module not in self._pile:
                source = self._modules.get(base, base)
            statement = ast.ImportFrom(source, [new_alias], level=0)
            lines.append(ast.unparse(statement))
        imports = "; ".join(lines)
        start, end = span(self._source, node)
        change = (start, end, imports)
        self._changes[change] = None

    def _import_modules(self, node: ast.Import) -> None:
        """Rewrite `import pile.lib as lib`, and `import pile.lib` if nothing uses `pile`."""
        names = [alias.name for alias in node.names]
        is_of_pack = any(name in self._modules for name in names)
        if not is_of_pack or binds_used_package(node, self._tree):
            return
        aliases = list[ast.alias]()
        for alias in node.names:
            module = self._modules.get(alias.name, alias.name)
            aliases.append(ast.alias(module, alias.asname))
        start, end = span(self._source, node)
        change = (start, end, ast.unparse(ast.Import(aliases)))
        self._changes[change] = None


def module_text(
    reader: PileReader, modules: Mapping[str, str], pile: Iterable[str], origin: str
) -> str:
    """Return the text of a module for the pack, whatever it does.

    Args:
        reader: The reader of the module.
        modules: By module of the pile, the module of the pack that has its code.
        pile: The names of all modules of the pile.
        origin: The name of the pile in texts.
    """
    title = f"Adopted from {origin}: {reader.module.path}"
    return BodyText(reader, modules, pile).text(" ".join(title.split()))
