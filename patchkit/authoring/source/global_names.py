"""Finds the names that code reads from its module, and those of them that nothing binds."""

import ast
import builtins
import symtable
from collections.abc import Iterable, Iterator, Mapping

from patchkit.analysis.upstream.resolving.module_tree import BLOCKS
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, is_private
from patchkit.analysis.uses.scopes import stored

_ALL = "*"
"""What an import of all names of a module binds; then no name is surely unbound."""
_OF_EVERY_MODULE = frozenset(
    {
        *dir(builtins),
        "__annotations__",
        "__builtins__",
        "__file__",
        "__path__",
    }
)
_OF_EVERY_CLASS = frozenset({"__module__", "__qualname__"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def used_names(text: str) -> set[str]:
    """Return the names that code reads from its module, sooner or later.

    Args:
        text: The code, as it stands in a module.
    """
    return set(_read_from_module(symtable.symtable(text, "code", "exec")))


def used_in(node: ast.stmt, *, with_annotations: bool = True) -> set[str]:
    """Return the names that a definition reads from its module, as if it stood there.

    Args:
        node: The definition; that of a method, too.
        with_annotations: Whether annotations count, which a module may leave as text.
    """
    if not with_annotations:
        # A copy, so that the annotations of the definition itself stay.
        (node,) = ast.parse(ast.unparse(node)).body
        for part in ast.walk(node):
            for field in ("annotation", "returns"):
                if getattr(part, field, None):
                    setattr(part, field, ast.Constant(None))
    # `symtable` lists `__class__`, too, where code uses `super`: it is no name of the module.
    return used_names(ast.unparse(node)) - {"__class__"}


def reached(named: Mapping[str, ast.stmt], names: Iterable[str]) -> set[str]:
    """Return the names that code uses, itself or by the definitions that it uses.

    Args:
        named: The definitions, by name.
        names: The names that the code itself has, which are among the results.
    """
    reached_names: set[str] = set()
    unread = list(names)
    while unread:
        name = unread.pop()
        if name in named and name not in reached_names:
            unread += used_in(named[name])
        reached_names.add(name)
    return reached_names


def _read_from_module(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that the code of a table, and of those inside of it, reads from its module.

    In the table of the module itself, these are all names that are read.
    """
    is_module = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (is_module or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _read_from_module(inner)


def inner_names(text: str) -> set[str]:
    """Return the names that functions in code bind for themselves.

    Args:
        text: The code, as it stands in a module.
    """
    module = symtable.symtable(text, "code", "exec")
    names: set[str] = set()
    for table in module.get_children():
        names.update(_bound_inside(table))
    return names


def _bound_inside(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the local names of the functions in a table."""
    for symbol in table.get_symbols():
        # Functions do not see what the body of a class binds.
        if symbol.is_local() and table.get_type() == "function":
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _bound_inside(inner)


def names_at_import(node: ast.AST, *, with_annotations: bool = True) -> set[str]:
    """Return the names that a statement reads as its module is imported.

    Args:
        node: The statement; those in its blocks do not count, unless it is a class.
        with_annotations: Whether annotations count, which a module may leave as text.
    """
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.ClassDef):
        return _names_of_class(node, with_annotations=with_annotations)
    names: set[str] = set()
    for part in _parts_at_import(node, with_annotations=with_annotations):
        names |= names_at_import(part, with_annotations=with_annotations)
    if isinstance(node, _COMPREHENSIONS):
        # Its variables are its own.
        for generator in node.generators:
            names -= stored(generator.target)
    return names


def _names_of_class(node: ast.ClassDef, *, with_annotations: bool) -> set[str]:
    """List what the header and the body of a class read that the body does not bind."""
    header = [*node.decorator_list, *node.bases, *node.keywords]
    names: set[str] = set()
    for part in header:
        names |= names_at_import(part, with_annotations=with_annotations)
    reader = _Reader(set(_OF_EVERY_CLASS), with_annotations=with_annotations)
    reader.read(node.body)
    return names | reader.unbound


def _parts_at_import(node: ast.AST, *, with_annotations: bool) -> Iterator[ast.AST]:
    """List the parts of a statement or an expression that run as the module is imported."""
    if isinstance(node, (*DEFS, ast.Lambda)):
        yield from getattr(node, "decorator_list", ())
        yield from node.args.defaults
        for default in node.args.kw_defaults:
            if default is not None:
                yield default
        if with_annotations:
            yield from _annotations(node)
        return
    # Blocks of statements are left out; the `body` of `a if b else c` is an expression, and is not.
    left_out: set[str] = set()
    if isinstance(node, ast.stmt):
        left_out.update(BLOCKS)
    if not with_annotations:
        left_out.add("annotation")
    for field, value in ast.iter_fields(node):
        if field in left_out:
            continue
        parts = value if isinstance(value, list) else [value]
        yield from filter(_is_read, parts)


def _is_read(part: object) -> bool:
    """Whether a part of a statement is code, and no name that it binds."""
    if isinstance(part, ast.Name):
        return isinstance(part.ctx, ast.Load)
    return isinstance(part, ast.AST)


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    """List the annotations in the header of a function."""
    returns = getattr(node, "returns", None)
    if returns is not None:
        yield returns
    for argument in ast.walk(getattr(node, "args", node)):
        if isinstance(argument, ast.arg) and argument.annotation is not None:
            yield argument.annotation


def private_name(node: ast.AST) -> str:
    """Return a name in code that Python stores as `_Class__name` in a class.

    Args:
        node: The code.

    Returns:
        The name; '' where it has none.
    """
    for part in ast.walk(node):
        name = ""
        if isinstance(part, ast.Name):
            name = part.id
        elif isinstance(part, ast.Attribute):
            name = part.attr
        if is_private(name):
            return name
    return ""


def bound_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement binds, those in its blocks included.

    Args:
        node: The statement.
    """
    if isinstance(node, SCOPES):
        return {node.name}
    names: set[str] = set()
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt):
            names |= bound_names(part)
        else:
            names |= _bound_by_part(part)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names |= stored(node)
    return names


def _bound_by_part(part: ast.AST) -> set[str]:
    """List what an expression, a handler, an item of `with` or a case binds."""
    names = stored(part)
    for node in ast.walk(part):
        if isinstance(node, (*SCOPES, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            # '' for `except E:` and `case _:`, which bind nothing; no name is ''.
            names.add(node.name or "")
    return names


def unbound_names(text: str) -> set[str]:
    """Return the names that code of a module reads and nothing has bound by then.

    A name that only functions read may be bound anywhere in the module. One that is read as the
    module is imported has to be bound above that.

    Args:
        text: The text of the module.
    """
    tree = ast.parse(text)
    reader = _Reader(
        set(_OF_EVERY_MODULE), with_annotations=not has_lazy_annotations(tree)
    )
    # A function that sets a global name may have run before anything reads it.
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            reader.bound.update(node.names)
    reader.read(tree.body)
    if _ALL in reader.bound:
        return reader.unbound
    never_bound = used_names(text) - reader.bound - _OF_EVERY_CLASS
    return reader.unbound | never_bound


def has_lazy_annotations(tree: ast.Module) -> bool:
    """Whether annotations of a module stay text, which nobody evaluates at its import.

    Args:
        tree: The module.
    """
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            names += [alias.name for alias in node.names]
    return "annotations" in names


class _Reader:
    """Reads statements in their order, to find names that are read before anything binds them.

    These are in `unbound` in the end.

    Args:
        bound: The names that are bound before; those that statements bind are added.
        with_annotations: Whether annotations are evaluated.
    """

    def __init__(self, bound: set[str], *, with_annotations: bool) -> None:
        self.bound = bound
        self.unbound: set[str] = set()
        self._with_annotations = with_annotations

    def read(self, statements: Iterable[ast.stmt]) -> None:
        """Read the statements of a block: what they bind, and what they read that is not bound.

        Args:
            statements: The statements of a block.
        """
        unread = [*statements][::-1]  # reversed, as `pop` takes the last
        while unread:
            node = unread.pop()
            names = names_at_import(node, with_annotations=self._with_annotations)
            if _ALL not in self.bound:  # after `import *`, any name may be bound
                self.unbound |= names - self.bound
            if isinstance(node, SCOPES):
                self.bound.add(node.name)
                continue
            for part in ast.iter_child_nodes(node):
                if not isinstance(part, ast.stmt):
                    self.bound |= _bound_by_part(part)
            unread.extend([*inner_statements(node)][::-1])


def inner_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """Return the statements in the blocks of a statement, which are in no further block.

    Args:
        node: The statement.
    """
    for field in BLOCKS:
        for part in getattr(node, field, ()):
            if isinstance(part, ast.stmt):
                yield part
            else:  # a handler or a case
                yield from part.body


def readers_at_import(tree: ast.Module, qualname: str) -> list[int]:
    """Return the lines of statements that read a name as their module is imported.

    Args:
        tree: The module, without what only a main program runs.
        qualname: The qualified name; for a member of a class, the body of the class is searched.
    """
    owner, _, name = qualname.rpartition(".")
    lines: list[int] = []
    for node in _statements_at_import(_body_of(tree, owner)):
        is_reader = name in names_at_import(node, with_annotations=False)
        # A statement that sets the name itself, such as its definition, does not count.
        if is_reader and name not in bound_names(node):
            lines.append(node.lineno)
    return lines


def _body_of(tree: ast.Module, owner: str) -> list[ast.stmt]:
    """Return the statements of a class.

    Args:
        tree: The module.
        owner: The qualified name of the class; '' for the module itself.

    Returns:
        The statements; none where the module has no such class.
    """
    body = tree.body
    if not owner:
        return body
    for name in owner.split("."):
        classes = [node for node in body if getattr(node, "name", None) == name]
        if not classes:
            return []
        body = getattr(classes[0], "body", [])
    return body


def _statements_at_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """List the statements of a block and of the blocks in it, but not those of definitions."""
    for node in body:
        yield node
        if not isinstance(node, SCOPES):
            yield from _statements_at_import(inner_statements(node))
