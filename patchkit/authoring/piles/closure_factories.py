"""Makes factories of a pile's function that sets closures: each is given what its closure wraps.

A pile is a package that patches upstream. Its `register()` often saves originals, defines functions
around them, and sets these. Such a function, up to what sets one of them, is the factory of that
one: it takes the original, and returns what replaces it.
"""

import ast
from collections.abc import Callable, Collection, Sequence
from textwrap import dedent, indent
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.piles.guards import bound
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.plain_functions import is_message
from patchkit.authoring.piles.row_names import unused
from patchkit.authoring.source.definitions import names_in

_PLAIN_DECORATORS = {
    "classmethod",
    "functools.wraps",
    "property",
    "staticmethod",
    "wraps",
}
"""What makes a function of another one, and does nothing else."""
_FACTORY = '''

def {name}({parameter}):
    """Return what {function} puts in the place of {target}."""
{text}
'''


class ClosureFactory(NamedTuple):
    """The factory of what a function sets.

    Args:
        statements: The statements of the function that it needs.
        value: What is set, as an expression.
        parameter: The name for what it replaces.
        is_constant: Whether that is a constant, which needs no factory.
        uses_original: Whether it needs what it replaces.
    """

    statements: Sequence[str]
    value: str
    parameter: str
    is_constant: bool
    uses_original: bool

    def text(self, name: str, function: str, target: str) -> str:
        """Return the factory as a function.

        Args:
            name: Its name.
            function: The function of the pile.
            target: What is set.
        """
        lines = "\n".join([*self.statements, f"return {self.value}"])
        return _FACTORY.format(
            name=name,
            parameter=self.parameter,
            function=function,
            target=target,
            text=indent(lines, "    "),
        )


class _Setter(NamedTuple):
    """A statement that sets an attribute.

    Args:
        position: Its place in the function.
        value: What it sets.
    """

    position: int
    value: ast.expr


class _NotPlainError(Exception):
    """A statement does more than a factory can repeat."""


def closure_factories(
    reader: PileReader,
    path: str,
    dotted_names: Collection[str],
    canonical: Callable[[str], str] = str,
) -> dict[str, ClosureFactory]:
    """Return the factories of what a function sets, by dotted name.

    Args:
        reader: The reader of the function's module.
        path: The name of the function.
        dotted_names: What the function was observed to set.
        canonical: Gives, for the dotted name of an attribute, the one that all its paths have in
            common.

    Returns:
        A factory of each; none at all if the function does anything that they would not do, such
        as to count in a variable that two of its functions share.
    """
    functions = [
        node
        for node in reader.module.tree.body
        if isinstance(node, ast.FunctionDef) and node.name == path
    ]
    if len(functions) != 1:
        return {}
    try:
        plain_function = _PlainFunction(reader, functions[0], canonical)
        return plain_function.factories(dotted_names)
    except _NotPlainError:
        return {}


class _PlainFunction:
    """A function that imports, saves originals, defines functions, and sets attributes.

    Args:
        reader: The reader of its module.
        node: The function.
        canonical: Gives the one dotted name that all paths of an attribute have in common.

    Raises:
        _NotPlainError: It does something else.
    """

    def __init__(
        self,
        reader: PileReader,
        node: ast.FunctionDef,
        canonical: Callable[[str], str],
    ) -> None:
        self._reader = reader
        self._node = node
        self._canonical = canonical
        self._source = reader.module.source.decode(errors="replace")
        self._scope = reader.scope.inner()
        # By dotted name, what sets it.
        self._setters: dict[str, _Setter] = {}
        # By position, the statements that a factory may repeat: imports, definitions of functions,
        # saved originals.
        self._repeatable: dict[int, ast.stmt] = {}
        # The positions of functions that a factory has a copy of.
        self._copied: set[int] = set()
        # The parameter of a factory that saves no original: no name that the function has.
        self._unused_name = unused("original", names_in(node))
        has_parameters = bool(list(ast.iter_child_nodes(node.args)))
        if has_parameters or node.decorator_list:
            raise _NotPlainError
        for index, statement in enumerate(node.body):
            self._read(index, statement)

    def factories(self, dotted_names: Collection[str]) -> dict[str, ClosureFactory]:
        """Return the factories by dotted name.

        Args:
            dotted_names: What the function was observed to set.

        Raises:
            _NotPlainError: It sets something else, or needs something that it also sets.
        """
        if set(dotted_names) != set(self._setters):
            raise _NotPlainError
        return {name: self._factory(name) for name in dotted_names}

    def _read(self, index: int, statement: ast.stmt) -> None:
        """Note what a statement sets, in `_setters`, or what it binds, in `_repeatable`."""
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            self._scope.bind_import(statement, self._reader.module, is_plain=True)
            self._repeatable[index] = statement
        elif isinstance(statement, ast.FunctionDef):
            _check_function(statement)
            self._repeatable[index] = statement
        elif isinstance(statement, ast.Assign):
            self._read_assignment(index, statement)
        elif isinstance(statement, ast.Expr):
            self._read_expression(index, statement.value)
        elif isinstance(statement, ast.Return):
            if statement.value is not None:
                raise _NotPlainError
        elif not isinstance(statement, ast.Pass):
            raise _NotPlainError

    def _read_assignment(self, index: int, statement: ast.Assign) -> None:
        """Read an assignment to one name, or to one attribute."""
        if len(statement.targets) != 1:
            raise _NotPlainError
        target = statement.targets[0]
        if isinstance(target, ast.Attribute):
            names = self._scope.dotted_names_of(target)
            self._add_setter(index, names, statement.value)
            return
        # An original, a constant or another name; a table would be made anew by each factory.
        is_plain = isinstance(statement.value, (ast.Attribute, ast.Name, ast.Constant))
        if not is_plain or not isinstance(target, ast.Name):
            raise _NotPlainError
        # A name that is bound twice means two things.
        for statement_above in self._repeatable.values():
            if target.id in bound(statement_above):
                raise _NotPlainError
        self._scope.bind(target, statement.value)
        self._repeatable[index] = statement

    def _read_expression(self, index: int, node: ast.expr) -> None:
        """Read a `setattr`, or a text or a message, which a factory leaves out."""
        if isinstance(node, ast.Constant):
            return
        if not isinstance(node, ast.Call):
            raise _NotPlainError
        name = dotted(node.func)
        if name == "setattr" and len(node.args) == 3:
            owners = self._scope.dotted_names_of(node.args[0])
            attributes = self._scope.strings_of(node.args[1])
            names = [f"{owner}.{name}" for owner in owners for name in attributes]
            self._add_setter(index, names, node.args[2])
            return
        if not is_message(node, self._reader):
            raise _NotPlainError

    def _add_setter(self, index: int, names: Sequence[str], value: ast.expr) -> None:
        """Add a statement that sets an attribute, once."""
        if len(names) != 1:
            raise _NotPlainError
        dotted_name = self._canonical(names[0])
        if dotted_name in self._setters:
            raise _NotPlainError
        if isinstance(value, ast.Call):
            if dotted(value.func) not in _PLAIN_DECORATORS:
                raise _NotPlainError
        elif not isinstance(value, (ast.Constant, ast.Lambda, ast.Name)):
            raise _NotPlainError
        self._setters[dotted_name] = _Setter(index, value)

    def _factory(self, dotted_name: str) -> ClosureFactory:
        """Return the factory of one attribute: the statements above that it needs."""
        setter = self._setters[dotted_name]
        self._refuse_what_is_set(setter.value)
        needed_names = names_in(setter.value)
        statements = list[str]()
        names_of_original = list[str]()
        # From the end, as a statement uses names that are bound above it.
        for index, statement in sorted(self._repeatable.items(), reverse=True):
            if bound(statement).isdisjoint(needed_names):
                continue
            if index > setter.position:  # a name that is bound only below
                raise _NotPlainError
            if self._is_original(statement, dotted_name):
                # The factory gets the original as its parameter.
                names_of_original += bound(statement)
                continue
            if isinstance(statement, ast.FunctionDef):
                if index in self._copied and not self._is_stateless(statement):
                    raise _NotPlainError
                self._copied.add(index)
            needed_names |= names_in(statement)
            self._refuse_import_of_what_is_set(statement)
            self._refuse_what_is_set(statement)
            statements.append(self._text(statement))
        parameter, *further_names = names_of_original or [self._unused_name]
        statements += [f"{name} = {parameter}" for name in further_names]
        statements.reverse()
        return ClosureFactory(
            statements,
            ast.unparse(setter.value),
            parameter,
            is_constant=isinstance(setter.value, ast.Constant),
            uses_original=bool(names_of_original),
        )

    def _is_stateless(self, function: ast.FunctionDef) -> bool:
        """Return whether two factories may have a copy each of a function.

        Of two copies, each would have attributes, defaults and an identity of its own; nobody can
        tell where the function is only called.
        """
        defaults = [*function.args.defaults, *function.args.kw_defaults]
        if function.decorator_list:
            return False
        if not all(each is None or isinstance(each, ast.Constant) for each in defaults):
            return False
        calls = [part for part in ast.walk(self._node) if isinstance(part, ast.Call)]
        called = [call.func for call in calls]
        for part in ast.walk(self._node):
            is_it = isinstance(part, ast.Name) and part.id == function.name
            if is_it and part not in called:
                return False
        return True

    def _is_original(self, statement: ast.stmt, dotted_name: str) -> bool:
        """Return whether a statement saves what the factory is given."""
        if not isinstance(statement, ast.Assign):
            return False
        return self._scope_names(statement.value) == [dotted_name]

    def _refuse_what_is_set(self, node: ast.AST) -> None:
        """Refuse code that reads, as it runs in the factory, what the function also sets.

        The functions in it run later, when all of that is set in any case.
        """
        for part in _parts_that_run(node):
            if not self._setters.keys().isdisjoint(self._scope_names(part)):
                raise _NotPlainError

    def _refuse_import_of_what_is_set(self, statement: ast.stmt) -> None:
        """Refuse an import, in a factory, of what the function also sets."""
        if not isinstance(statement, ast.ImportFrom):
            return
        module = self._reader.module.absolute(statement.module, statement.level)
        for alias in statement.names:
            if f"{module}.{alias.name}" in self._setters:
                raise _NotPlainError

    def _scope_names(self, node: ast.AST) -> Sequence[str]:
        """Return the dotted names that an attribute may stand for."""
        if not isinstance(node, ast.Attribute):
            return []
        names = self._scope.dotted_names_of(node)
        return [self._canonical(name) for name in names]

    def _text(self, statement: ast.stmt) -> str:
        """Return the lines of a statement, without the indentation of its function."""
        if isinstance(statement, ast.ImportFrom) and statement.level:
            # A relative import would mean another module in the pack.
            absolute = self._reader.module.absolute(statement.module, statement.level)
            copied = ast.ImportFrom(absolute, statement.names, 0)
            return ast.unparse(copied)
        first = statement.lineno
        for decorator in getattr(statement, "decorator_list", ()):
            first = min(first, decorator.lineno)
        lines = self._source.splitlines()[first - 1 : statement.end_lineno]
        return dedent("\n".join(lines))


def _check_function(node: ast.FunctionDef) -> None:
    """Refuse a function that keeps a state in variables of the one around it.

    Raises:
        _NotPlainError: It does, or a decorator may do more than make a function of it.
    """
    for part in ast.walk(node):
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            raise _NotPlainError
    for decorator in node.decorator_list:
        made_by = decorator
        if isinstance(decorator, ast.Call):
            made_by = decorator.func
        if dotted(made_by) not in _PLAIN_DECORATORS:
            raise _NotPlainError


def _parts_that_run(node: ast.AST) -> list[ast.AST]:
    """List the parts of code that run with it: of a function, its decorators and defaults."""
    parts: list[ast.AST] = [node]
    is_function = isinstance(node, (*DEFS, ast.Lambda))
    decorators = getattr(node, "decorator_list", ())
    for child in ast.iter_child_nodes(node):
        is_of_header = isinstance(child, ast.arguments) or child in decorators
        if is_of_header or not is_function:
            parts += _parts_that_run(child)
    return parts
