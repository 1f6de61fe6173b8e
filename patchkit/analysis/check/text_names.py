"""Reads from the text of a change which names it needs to be defined."""

import ast
import builtins
import keyword
import re
import symtable
from collections.abc import Iterator

from patchkit.core.rows.declaration import AddField, Change, Edit

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""A word that is no attribute; it may stand in a string or a comment, too."""

_OF_MODULES = {"__annotations__", "__builtins__", "__cached__", "__file__", "__path__"}
"""What Python sets in modules."""

_KNOWN = {*dir(builtins), *keyword.kwlist, *_OF_MODULES, "__class__"}
"""What every module has."""

_UNDECIDABLE = {"eval", "exec", "globals", "NameError", "vars"}
"""Code with one of these words may define a name, or may go on where nothing defines it."""

_OF_TYPES = frozenset(
    (
        "Callable",
        "Collection",
        "Deque",
        "Dict",
        "FrozenSet",
        "Iterable",
        "Iterator",
        "List",
        "Mapping",
        "MutableMapping",
        "Optional",
        "Sequence",
        "Set",
        "Tuple",
        "Type",
        "Union",
        "deque",
        "dict",
        "frozenset",
        "list",
        "set",
        "tuple",
        "type",
    )
)
"""What has types in its brackets, so that a string there is a type; elsewhere it may be a value."""


def names_to_find(change: Change) -> list[str]:
    """List the names that the module of a change's target may have to define.

    Args:
        change: The change.

    Returns:
        Names that an Edit brings into its function, or that the type of an AddField consists of.
    """
    if isinstance(change, Edit):
        names = words(change.new) - words(change.old)
    elif isinstance(change, AddField) and isinstance(change.type, str):
        names = _names_in(change.type)
    else:
        return []
    return sorted(names - _KNOWN)


def words(text: str) -> set[str]:
    """Return the words of a text that are no attributes.

    Args:
        text: The text, which need not be whole code.
    """
    return set(_NAME.findall(text))


def quoted_names(change: Change) -> set[str]:
    """Return those names of an AddField's type that stand in a string in it alone.

    Python does not evaluate them when the field is made.

    Args:
        change: The change.
    """
    if not isinstance(change, AddField) or not isinstance(change.type, str):
        return set()
    return _names_in(change.type) - _evaluated(change.type)


def _names_in(annotation: str) -> set[str]:
    """Return the names of an annotation, those in strings in it included."""
    names = _evaluated(annotation)
    try:
        tree = ast.parse(annotation.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return names
    for text in _types_in_strings(tree.body):
        names |= _names_in(text)
    return names


def _evaluated(annotation: str) -> set[str]:
    """Return the names that an annotation reads where it is evaluated."""
    try:
        table = symtable.symtable(annotation.strip(), "<type>", "eval")
    except (SyntaxError, ValueError):
        return set()
    names = {symbol.get_name() for symbol in table.get_symbols()}
    return names.union(_read_in_functions(table))


def _types_in_strings(node: ast.expr) -> Iterator[str]:
    """Yield the strings in an annotation that are types: of `list["C"]`, not of `Literal["C"]`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Subscript) and _last_name(node.value) in _OF_TYPES:
        yield from _types_in_strings(node.slice)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for element in node.elts:
            yield from _types_in_strings(element)
    elif isinstance(node, ast.BinOp):
        yield from _types_in_strings(node.left)
        yield from _types_in_strings(node.right)


def _last_name(node: ast.expr) -> str:
    """Return the name of an expression, or of the attribute that it is; '' for others."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return str(name)


def may_set(text: str, name: str, *, is_of_pack: bool = False) -> bool:
    """Whether code may give a name to a module, from within it or from another one.

    Args:
        text: The code.
        name: The name.
        is_of_pack: Whether it is a pack's code, which may name in a string what it sets.
    """
    word = re.escape(name)
    # Of an attribute: not of `self` or `cls`, where it is none of a module.
    attribute = rf"(?<!\bself)(?<!\bcls)\.{word}\b"
    patterns = [
        rf"\bglobal\b[^\n]*\b{word}\b",  # in a function: `global x`
        rf"\b{word}\s*:=",
        rf"{attribute}\s*(:[^\n=]*)?=(?!=)",  # in another module: `a.x = …`
        rf"(?m)^[^\n=(]*{attribute}[^\n=(]*=(?!=)",  # among others: `a.x, b.y = …`
    ]
    if is_of_pack:
        patterns.append(rf"['\"]{word}['\"]")  # `setattr(a, "x", …)`
        patterns.append(rf"\bupdate\([^)]*\b{word}\s*=")  # `vars(a).update(x=…)`
    return any(re.search(pattern, text) for pattern in patterns)


def globals_read(text: str) -> set[str]:
    """Return the names that a function reads from its module, and does not set there.

    Args:
        text: The source of the function; that of a method is indented.

    Returns:
        The names; none if the text is no valid Python, or if it may define any name.
    """
    if text[:1].isspace():  # a method, which needs a class around it
        text = f"class _:\n{text}"
    if not _UNDECIDABLE.isdisjoint(words(text)):
        return set()
    try:
        tree = _WithoutAnnotations().visit(ast.parse(text))
        table = symtable.symtable(ast.unparse(tree), "<edited>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return set(_read_in_functions(table)).difference(_set_globals(table))


def defaults_read(text: str) -> set[str]:
    """Return the names that the defaults of a function's parameters read.

    Args:
        text: The source of the function.

    Returns:
        The names; none for a method, whose defaults may read names of its class, too.
    """
    try:
        (function,) = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return set()  # also of a method, which is indented
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    parameters = function.args
    defaults = [*parameters.defaults, *filter(None, parameters.kw_defaults)]
    names: set[str] = set()
    for default in defaults:
        names |= _evaluated(ast.unparse(default))
    return names


def unknown_at_load(text: str) -> set[str]:
    """Return the names that a module reads as it is loaded, and that nothing in it defines.

    Args:
        text: The source of the module.

    Returns:
        The names; none if the text is no valid Python, or if it may define any name.
    """
    if not _UNDECIDABLE.isdisjoint(words(text)):
        return set()
    try:
        tree = ast.parse(text)
        if any(_is_star(node) for node in ast.walk(tree)):
            return set()
        whole = ast.unparse(_WithoutAnnotations().visit(tree))
        table = symtable.symtable(whole, "<module>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return set()
    bound = set(_set_globals(table))
    for symbol in table.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            bound.add(symbol.get_name())
    unknown = set(_read_at_load(table)) - bound - _KNOWN
    return {name for name in unknown if not name.startswith("__")}


def _is_star(node: ast.AST) -> bool:
    """Whether a statement is `from module import *`."""
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _read_at_load(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that a module, and the classes in it, read as the module is loaded."""
    for symbol in table.get_symbols():
        if symbol.is_referenced():
            yield symbol.get_name()
    for child in table.get_children():
        if child.get_type() == "class":
            for symbol in child.get_symbols():
                if symbol.is_global() and symbol.is_referenced():
                    yield symbol.get_name()


class _WithoutAnnotations(ast.NodeTransformer):
    """Takes annotations out of functions: Python does not evaluate those of local variables.

    It evaluates those of nested functions, but not in every module and not in every version.
    """

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Make the annotation one that reads nothing; the variable stays a local one."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Take out the annotation of a parameter."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Take out the annotation of what a function returns."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Take out the annotation of what a function returns."""
        node.returns = None
        return self.generic_visit(node)


def _read_in_functions(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that functions in a scope, at any depth, read from their module."""
    for child in table.get_children():
        if isinstance(child, symtable.Function):
            for symbol in child.get_symbols():
                if symbol.is_global() and symbol.is_referenced():
                    yield symbol.get_name()
        yield from _read_in_functions(child)


def _set_globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that scopes in a scope, at any depth, set after a statement `global`."""
    for child in table.get_children():
        for symbol in child.get_symbols():
            is_set = symbol.is_assigned() or symbol.is_imported()
            if symbol.is_declared_global() and is_set:
                yield symbol.get_name()
        yield from _set_globals(child)
