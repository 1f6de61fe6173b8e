"""Reads decorators of the release that make dataclasses: which flavour, and with which options."""

import ast
from collections.abc import Mapping
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted, walk
from patchkit.analysis.upstream.resolving.values import Lookup, Scope

DATACLASSES = {
    "dataclasses.dataclass": "dataclass",
    "pydantic.dataclasses.dataclass": "pydantic",
}
"""The flavour that each decorator makes of a class."""
SPREAD = "**"
"""Stands among the options of a decorator for those that it is passed as `**options`."""
_Options = dict[str, ast.expr]


class DataclassMaker(NamedTuple):
    """What a decorator makes of a class.

    Args:
        flavour: That of the dataclass decorator that it calls; "unknown" if it calls none or
            several. '' if it makes no dataclasses.
        options: What it passes on to that.
    """

    flavour: str
    options: _Options


def dataclass_maker(
    lookup: Lookup, tree: ModuleTree, node: ast.FunctionDef, options: _Options
) -> DataclassMaker:
    """Read a decorator; it makes dataclasses if it is decorated with `dataclass_transform`.

    Args:
        lookup: The release.
        tree: The module of the decorator.
        node: The decorator.
        options: The keyword arguments that it is passed.

    Returns:
        What it makes.
    """
    if not any(map(_is_dataclass_transform, node.decorator_list)):
        return DataclassMaker("", options)
    calls: list[ast.Call] = []
    flavours: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Call) and "dataclass" in dotted(part.func):
            for value in lookup.evaluate(part.func, Scope(tree)):
                if value.dotted in DATACLASSES:
                    flavours.add(DATACLASSES[value.dotted])
                    calls.append(part)
    if len(flavours) != 1:
        return DataclassMaker("unknown", options)
    passed = [_passed_on(node, call, options) for call in calls]
    texts = {_text(each) for each in passed}
    if len(texts) > 1:  # which of them is called is not known
        return DataclassMaker(flavours.pop(), {SPREAD: ast.Constant(None)})
    return DataclassMaker(flavours.pop(), passed[0])


def _passed_on(node: ast.FunctionDef, call: ast.Call, options: _Options) -> _Options:
    """Return the options of the call of a dataclass decorator in another decorator.

    Args:
        node: The other decorator.
        call: The call.
        options: What the other decorator is passed.
    """
    passed: _Options = {}
    for keyword in call.keywords:
        name = dotted(keyword.value)
        if keyword.arg is not None:
            passed[keyword.arg] = _value(node, name, keyword.value, options)
        elif _is_only_spread(node, name):
            named = {argument.arg for argument in _named(node)}
            passed |= {key: value for key, value in options.items() if key not in named}
        else:
            passed[SPREAD] = keyword.value
    return passed


def _named(node: ast.FunctionDef) -> list[ast.arg]:
    """List the parameters of a function but for `*args` and `**kwargs`."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _value(
    node: ast.FunctionDef, name: str, value: ast.expr, options: Mapping[str, ast.expr]
) -> ast.expr:
    """Return what an option is: where a decorator passes a parameter on, the argument for it."""
    defaults = _defaults(node)
    if name not in defaults or _is_bound(node, name):
        return value
    return options.get(name, defaults[name])


def _defaults(node: ast.FunctionDef) -> _Options:
    """Return the defaults of a function's parameters, by their names."""
    arguments = node.args
    places = [*arguments.posonlyargs, *arguments.args]
    with_default = places[len(places) - len(arguments.defaults) :]
    defaults = dict(
        zip([one.arg for one in with_default], arguments.defaults, strict=True)
    )
    for argument, default in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    ):
        if default is not None:
            defaults[argument.arg] = default
    return defaults


def _is_bound(node: ast.FunctionDef, name: str) -> bool:
    """Whether the code of a function, or of one in it, binds a name anew."""
    for part in walk(node):
        if isinstance(part, ast.Name) and part.id == name:
            if not isinstance(part.ctx, ast.Load):
                return True
        elif (
            isinstance(part, ast.arg) and part.arg == name and part not in _named(node)
        ):
            return True
    return False


def _is_only_spread(node: ast.FunctionDef, name: str) -> bool:
    """Whether a name is a function's `**kwargs`, which it only passes on as such."""
    if node.args.kwarg is None or node.args.kwarg.arg != name:
        return False
    spread = 0
    used = 0
    for part in walk(node):
        if isinstance(part, ast.keyword) and part.arg is None:
            spread += dotted(part.value) == name
        elif isinstance(part, ast.Name) and part.id == name:
            used += 1
    return used == spread


def _text(options: _Options) -> str:
    """Return options as a text, to compare them."""
    return repr(sorted((name, ast.dump(value)) for name, value in options.items()))


def _is_dataclass_transform(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(function).endswith("dataclass_transform")
