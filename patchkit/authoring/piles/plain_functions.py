"""Tells whether a function of a pile does nothing but set what it was observed to set.

A pile is a package that patches upstream. A row that sets what a function sets stands for its call
only if the call does nothing else: no variable of the environment, no table of the pile's own, no
import of a module that patches. Whatever is not known to do nothing else counts as if it did.
"""

import ast
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.piles.guards import bound
from patchkit.authoring.piles.keeping_off import PileFunction
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.source.name_scopes import NameScope, parameters_of

_LOG_METHODS = {"debug", "error", "exception", "info", "warning"}
MAKERS_OF_LOGGERS = {"getLogger", "get_logger", "init_logger"}
"""The functions that make a logger of a name, and do nothing else."""
_LOGGERS = {"logging"}
_WRAPS = {"functools.wraps", "wraps"}
"""What returns a function that makes one of another, and does nothing else."""
_HARMLESS_CALLS = {
    "classmethod",
    "functools.partial",
    "functools.wraps",
    "getattr",
    "hasattr",
    "isinstance",
    "issubclass",
    "len",
    "partial",
    "property",
    "staticmethod",
    "type",
    "wraps",
}
"""What makes a value of others, and does nothing else."""
_HARMLESS_EXPRESSIONS = (
    ast.Attribute,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.Constant,
    ast.Dict,
    ast.FormattedValue,
    ast.IfExp,
    ast.JoinedStr,
    ast.List,
    ast.Name,
    ast.Set,
    ast.Starred,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
    ast.keyword,
    ast.Slice,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)
"""Expressions that only have the effects of their parts."""


class Expected(NamedTuple):
    """What a function is known to do.

    Args:
        dotted_names: What it was observed to set.
        factories: The functions that rows call in its place, as `module:name`.
        modules: The modules of the pile that may be imported: rows have what they set.
        canonical: Gives, for the dotted name of an attribute, the one that all its paths have in
            common.
    """

    dotted_names: Collection[str]
    factories: Collection[str]
    modules: Collection[str]
    canonical: Callable[[str], str]


def does_nothing_else(
    readers: Mapping[str, PileReader], function: PileFunction, expected: Expected
) -> bool:
    """Return whether a function of a pile is known to do nothing but what is expected of it.

    Args:
        readers: The readers of the pile's modules, by name.
        function: The function.
        expected: What it is known to do.
    """
    return _PlainFunctions(readers, expected).is_plain(function, [])


def is_message(node: ast.Call, reader: PileReader) -> bool:
    """Return whether a call prints or logs something, and does nothing else.

    Args:
        node: The call.
        reader: The reader of its module.
    """
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    for argument in arguments:
        if not _is_harmless(argument):
            return False
    if isinstance(node.func, ast.Name):
        return node.func.id == "print" and not _is_bound_in(reader, "print")
    name = dotted(node.func)
    owner, _, method = name.rpartition(".")
    if method not in _LOG_METHODS:
        return False
    return owner in _LOGGERS or _is_logger(reader, owner)


def _is_harmless(node: ast.expr) -> bool:
    """Return whether an expression only reads, without any call."""
    return all(isinstance(part, _HARMLESS_EXPRESSIONS) for part in ast.walk(node))


def _is_bound_in(reader: PileReader, name: str) -> bool:
    """Return whether a module binds a name itself, anywhere at its top."""
    return any(name in bound(statement) for statement in reader.module.tree.body)


def _is_logger(reader: PileReader, name: str) -> bool:
    """Return whether a module makes a logger of a name, and nothing else."""
    makers = set[str]()
    for statement in reader.module.tree.body:
        if name not in bound(statement):
            continue
        value = getattr(statement, "value", None)
        maker = ""
        if isinstance(value, ast.Call):
            maker = dotted(value.func).rpartition(".")[2]
        makers.add(maker)
    return bool(makers) and makers <= MAKERS_OF_LOGGERS


def quiet_modules(readers: Mapping[str, PileReader]) -> set[str]:
    """Return the modules of a pile whose import only defines things.

    Args:
        readers: The readers of the pile's modules, by name.
    """
    loud = {name for name, reader in readers.items() if not _only_defines(reader)}
    has_grown = True
    while has_grown:
        has_grown = False
        for name, reader in readers.items():
            imported_names = {pile_import.module for pile_import in reader.imports}
            if name not in loud and not loud.isdisjoint(imported_names):
                loud.add(name)
                has_grown = True
    return readers.keys() - loud


def _only_defines(reader: PileReader) -> bool:
    """Return whether the statements of a module only import, define and bind plain values."""
    for statement in reader.module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
            continue
        if isinstance(statement, ast.ClassDef):
            is_derived = bool(statement.bases or statement.keywords)
            if not is_derived and not statement.decorator_list:
                continue
        if isinstance(statement, ast.Expr) and isinstance(
            statement.value, ast.Constant
        ):
            continue
        if isinstance(statement, ast.Assign):
            only_names = all(
                isinstance(target, ast.Name) for target in statement.targets
            )
            if only_names and _is_harmless(statement.value):
                continue
        return False
    return True


class _PlainFunctions:
    """Reads functions of a pile, each with those that it calls.

    Args:
        readers: The readers of the pile's modules, by name.
        expected: What is known to be done.
    """

    def __init__(self, readers: Mapping[str, PileReader], expected: Expected) -> None:
        self._readers = readers
        self._expected = expected

    def is_plain(self, function: PileFunction, callers: Collection[str]) -> bool:
        """Return whether a function does nothing else.

        Args:
            function: The function.
            callers: The functions that call it, which may call themselves.
        """
        reader = self._readers.get(function.module)
        if reader is None or str(function) in callers:
            return False
        definitions = [
            statement
            for statement in reader.module.tree.body
            if function.path in bound(statement)
        ]
        if len(definitions) != 1:
            return False
        node = definitions[0]
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            return False
        scope = reader.scope.inner(parameters_of(node))
        frame = _Frame(reader, scope, [*callers, str(function)])
        return all(self._is_plain_statement(each, frame) for each in node.body)

    def _is_plain_statement(self, node: ast.stmt, frame: "_Frame") -> bool:
        """Return whether a statement does nothing else; a block may depend on what is here."""
        if isinstance(node, (ast.Pass, ast.Global)):
            return True
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self._is_plain_import(node, frame)
        if isinstance(node, ast.FunctionDef):
            return self._is_plain_definition(node, frame)
        if isinstance(node, ast.Assign):
            return self._is_plain_assignment(node, frame)
        if isinstance(node, ast.Return):
            return node.value is None or self._is_plain_value(node.value, frame)
        if isinstance(node, ast.Expr):
            return self._is_plain_call(node.value, frame)
        return False

    def _is_plain_import(
        self, node: ast.Import | ast.ImportFrom, frame: "_Frame"
    ) -> bool:
        """Return whether an import runs no module of the pile that does more than define things."""
        frame.scope.bind_import(node, frame.reader.module, is_plain=True)
        for _name, _stands_for, target in imported(node, frame.reader.module):
            names = {target.module, str(target).replace(":", ".")}
            of_pile = names & self._readers.keys()
            if not of_pile <= set(self._expected.modules):
                return False
        return True

    def _is_plain_definition(self, node: ast.FunctionDef, frame: "_Frame") -> bool:
        """Return whether the definition of a function inside of another one runs nothing else."""
        if _is_bound_in(frame.reader, node.name):  # a call may mean either
            return False
        for decorator in node.decorator_list:
            # It is called, so that a name alone has to be a known one.
            if not isinstance(decorator, ast.Call):
                if dotted(decorator) not in _HARMLESS_CALLS:
                    return False
                continue
            is_wraps = dotted(decorator.func) in _WRAPS
            if not is_wraps or not self._is_plain_value(decorator, frame):
                return False
        defaults = [*node.args.defaults, *node.args.kw_defaults]
        return all(self._is_plain_value(part, frame) for part in defaults if part)

    def _is_plain_assignment(self, node: ast.Assign, frame: "_Frame") -> bool:
        """Return whether an assignment binds a name, or sets what was observed."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                frame.scope.bind(target, node.value)
            elif not self._is_expected(frame.scope.dotted_names_of(target)):
                return False
        return self._is_plain_value(node.value, frame)

    def _is_expected(self, dotted_names: Collection[str]) -> bool:
        """Return whether something that is set is one thing, and was observed."""
        if len(dotted_names) != 1:
            return False
        names = {self._expected.canonical(name) for name in dotted_names}
        return names <= set(self._expected.dotted_names)

    def _is_plain_call(self, node: ast.expr, frame: "_Frame") -> bool:
        """Return whether a statement that is an expression does nothing else."""
        if not isinstance(node, ast.Call):
            return self._is_plain_value(node, frame)
        if dotted(node.func) == "setattr" and len(node.args) == 3:
            owner, name, value = node.args
            scope = frame.scope
            names = [
                f"{each}.{text}"
                for each in scope.dotted_names_of(owner)
                for text in scope.strings_of(name)
            ]
            return self._is_expected(names) and self._is_plain_value(value, frame)
        return is_message(node, frame.reader) or self._is_plain_value(node, frame)

    def _is_plain_value(self, node: ast.expr, frame: "_Frame") -> bool:
        """Return whether an expression calls nothing that does anything else."""
        if isinstance(node, ast.Lambda):
            defaults = [*node.args.defaults, *node.args.kw_defaults]
            return all(self._is_plain_value(part, frame) for part in defaults if part)
        if isinstance(node, ast.Call):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            is_known = self._is_known_call(node, frame)
            return is_known and all(
                self._is_plain_value(argument, frame) for argument in arguments
            )
        if not isinstance(node, _HARMLESS_EXPRESSIONS):
            return False
        parts = ast.iter_child_nodes(node)
        return all(
            self._is_plain_value(part, frame)
            for part in parts
            if isinstance(part, ast.expr)
        )

    def _is_known_call(self, node: ast.Call, frame: "_Frame") -> bool:
        """Return whether what is called does nothing else by itself."""
        if isinstance(node.func, ast.Call):  # `functools.wraps(original)(f)`
            is_wraps = dotted(node.func.func) in _WRAPS
            return is_wraps and self._is_plain_value(node.func, frame)
        name = dotted(node.func)
        if name in _HARMLESS_CALLS:
            first_name = name.partition(".")[0]
            if first_name == name and name not in ("partial", "wraps"):
                return not _is_bound_in(frame.reader, name)
            return True
        called = self._own_function(node.func, frame)
        if called is None:
            return False
        if str(called) in self._expected.factories:
            return True
        has_arguments = bool(node.args or node.keywords)
        return not has_arguments and self.is_plain(called, frame.functions)

    def _own_function(self, node: ast.expr, frame: "_Frame") -> PileFunction | None:
        """Return the function of the pile that a name stands for; None where it is none."""
        if isinstance(node, ast.Name):
            for statement in frame.reader.module.tree.body:
                if isinstance(statement, DEFS) and statement.name == node.id:
                    return PileFunction(frame.reader.module.name, node.id)
        for dotted_name in frame.scope.dotted_names_of(node):
            module, _, name = dotted_name.rpartition(".")
            if module in self._readers:
                return PileFunction(module, name)
        return None


class _Frame(NamedTuple):
    """Where a statement is.

    Args:
        reader: The reader of its module.
        scope: What names mean there.
        functions: The function that it is in, after those that call it.
    """

    reader: PileReader
    scope: NameScope
    functions: Collection[str]
