"""Upstream's parameters as a body writes them, with the imports that their defaults need."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.scaffold.style import Style
    from patchkit.upstream.resolving.module_tree import ModuleTree

Def = ast.FunctionDef | ast.AsyncFunctionDef

_PLAIN = frozenset({"int", "float", "str", "bool", "bytes", "object"})
_GENERIC = frozenset({"list", "dict", "tuple", "set", "frozenset"})


class Import(NamedTuple):
    """
    What a body has to import: `from module import name`, or `import module` where name is ''.

    Args:
        module: dotted, absolute.
        name: in it.
        alias: another name here, or ''.

    """

    module: str
    name: str = ""
    alias: str = ""

    def __str__(self) -> str:
        alias = f" as {self.alias}" if self.alias else ""
        if self.name:
            return f"from {self.module} import {self.name}{alias}"
        return f"import {self.module}{alias}"


@dataclass(frozen=True)
class Written:
    """
    A function's head.

    Args:
        parameters: one text each.
        returns: its annotation.
        imports: what the defaults need.

    """

    parameters: tuple[str, ...]
    returns: str
    imports: frozenset[Import]


class Writer:
    """
    Writes the head of one function.

    Args:
        node: the function.
        tree: the module that it stands in.
        cls: the class around it, as a name in its module; '' for none.
        style: of the body.

    """

    def __init__(self, node: Def, tree: ModuleTree, cls: str, style: Style) -> None:
        self._node = node
        self._tree = tree
        self._class = cls
        self._style = style
        self._imports: set[Import] = set()

    def written(self) -> Written:
        """Write it."""
        parameters = tuple(self._parameters(self._node.args))
        returns = simple(self._node.returns) or "Any"
        return Written(parameters, returns, frozenset(self._imports))

    def _parameters(self, arguments: ast.arguments) -> Iterator[str]:
        places = [*arguments.posonlyargs, *arguments.args]
        required = len(places) - len(arguments.defaults)
        for at, one in enumerate(places):
            yield self._one(one, arguments.defaults[at - required] if at >= required else None)
            if at + 1 == len(arguments.posonlyargs):
                yield "/"
        if arguments.vararg:
            yield f"*{self._one(arguments.vararg)}"
        elif arguments.kwonlyargs:
            yield "*"
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            yield self._one(one, default)
        if arguments.kwarg:
            yield f"**{self._one(arguments.kwarg)}"

    def _one(self, one: ast.arg, default: ast.expr | None = None) -> str:
        annotation = simple(one.annotation)
        if default is None:
            return f"{one.arg}: {annotation or 'Any'}"
        fits = annotation and _fits(annotation, default)
        return f"{one.arg}: {annotation if fits else 'Any'} = {self._default(default)}"

    def _default(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._style.text(node.value)
        text = ast.unparse(self._qualified(node))
        plain = self._style.quote == "'" or '"' in text or "\\" in text
        return text if plain else text.replace("'", '"')

    def _qualified(self, node: ast.expr) -> ast.expr:
        """Import the names of a default; those of the class around it are named through that."""
        own = self._names_of_class()
        local = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        copy = ast.parse(ast.unparse(node), mode="eval").body
        for one in ast.walk(copy):
            if not isinstance(one, ast.Name) or one.id in local or isinstance(one.ctx, ast.Store):
                continue
            if one.id in own:
                self._imports.add(Import(self._tree.name, self._class.partition(".")[0]))
                one.id = f"{self._class}.{one.id}"
            else:
                self._imports.update(binding(self._tree, one.id))
        return copy

    def _names_of_class(self) -> frozenset[str]:
        scope: list[ast.stmt] = self._tree.body
        for name in filter(None, self._class.split(".")):
            classes = (one for one in scope if isinstance(one, ast.ClassDef) and one.name == name)
            scope = next((one.body for one in classes), [])
        return frozenset(_bound_in(scope)) if self._class else frozenset()


def binding(tree: ModuleTree, name: str) -> list[Import]:
    """Say how a module's name is imported elsewhere; as the module itself does, where it does."""
    for one in tree.body:
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            for alias in one.names:
                if (alias.asname or alias.name.partition(".")[0]) == name:
                    return [_as_there(tree, one, alias)]
    is_builtin = hasattr(builtins, name) and name not in _bound_in(tree.body)
    return [] if is_builtin else [Import(tree.name, name)]


def simple(node: ast.expr | None) -> str:
    """Write an annotation that builtins alone make; '' for any other."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return ""
    return ast.unparse(node) if node is not None and _is_simple(node) else ""


def _is_simple(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is ...
    if isinstance(node, ast.Name):
        return node.id in _PLAIN
    if isinstance(node, ast.Tuple):
        return all(map(_is_simple, node.elts))
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and _is_simple(node.left) and _is_simple(node.right)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id in _GENERIC and _is_simple(node.slice)
    return False


def _fits(annotation: str, default: ast.expr) -> bool:
    """Whether a type checker takes a default for an annotation, as far as that is plain."""
    if not isinstance(default, ast.Constant):
        return False
    return type(default.value).__name__.replace("NoneType", "None") in annotation.split(" | ")


def _as_there(tree: ModuleTree, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Import:
    if isinstance(node, ast.Import):
        return Import(alias.name, "", alias.asname or "")
    module = tree.absolute(node.module, node.level) or tree.name
    return Import(module, alias.name, alias.asname or "")


def _bound_in(body: list[ast.stmt]) -> Iterator[str]:
    for one in body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield one.name
        elif isinstance(one, (ast.Assign, ast.AnnAssign)):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name))
