"""Finds which items of other tables follow from changed items of one, as a module makes them.

`ALL = {**SOME, **MORE}` has the items of `SOME`, and a registry that is made by
`Registry({name: Entry(value) for name, value in ALL.items()})` has an entry for each.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.adopt.compared_names import is_dataclass
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.loops import value_in_turn
from patchkit.authoring.adopt.table_items import ChangedItem


def with_derived(
    module: Definitions,
    items: Mapping[str, Sequence[ChangedItem]],
    changed: Collection[str],
) -> dict[str, list[ChangedItem]]:
    """Return changed items of tables, with those that follow from them in other tables.

    Args:
        module: The new version of the module.
        items: The items that differ, by the name of their table.
        changed: The names whose statements differ; their changes have what follows.
    """
    found = {name: list(changed) for name, changed in items.items()}
    # A table stands below those that it is made from.
    for name, node in module.named.items():
        value = getattr(node, "value", None)
        if name in changed or "." in name or value is None:
            continue
        derived = _derived(module, value, found)
        if derived:
            found[name] = derived
    return found


def _derived(
    module: Definitions, value: ast.expr, items: Mapping[str, Sequence[ChangedItem]]
) -> list[ChangedItem] | None:
    """Return the items of a value that follow from others; None where it is made otherwise."""
    if isinstance(value, ast.Dict):
        return _of_unpacking(module, value, items)
    if isinstance(value, ast.DictComp):
        return _of_comprehension(value, items)
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        (argument,) = value.args
        name = dotted(value.func)
        attribute = _first_field(module, name)
        inner = _derived(module, argument, items)
        if attribute and inner:
            return [_of_attribute(item, attribute) for item in inner]
    return None


def _of_attribute(item: ChangedItem, attribute: str) -> ChangedItem:
    """Return an item of a table that an attribute of an object has."""
    path = f".{attribute}{item.path}"
    return item._replace(path=path)


def _of_unpacking(
    module: Definitions, value: ast.Dict, items: Mapping[str, Sequence[ChangedItem]]
) -> list[ChangedItem] | None:
    """Return the items of `{**TABLE, …}` that follow from those of `TABLE`."""
    found: list[ChangedItem] = []
    pairs = list(zip(value.keys, value.values, strict=True))
    for index, (key, part) in enumerate(pairs):
        if names_in(part).isdisjoint(items):
            continue
        table = dotted(part)
        if key is not None or table not in items:
            return None
        for item in items[table]:
            pairs_behind = pairs[index + 1 :]
            hidden = _is_set_behind(module, item.keys[0], pairs_behind)
            if hidden is None:
                return None
            # A table inside of the table is the same object in both.
            if not hidden and len(item.keys) == 1 and not item.path:
                found.append(item)
    return found


def _is_set_behind(
    module: Definitions,
    key: object,
    pairs: Sequence[tuple[ast.expr | None, ast.expr]],
) -> bool | None:
    """Return whether further parts of a dict set a key as well; None if that is not told."""
    for inner_key, part in pairs:
        keys = [inner_key]
        if inner_key is None:
            name = dotted(part)
            node = module.named.get(name)
            table = getattr(node, "value", None)
            if not isinstance(table, ast.Dict):
                return None
            keys = list(table.keys)
        for key_node in keys:
            if not isinstance(key_node, ast.Constant):
                return None
            if key_node.value == key:
                return True
    return False


def _of_comprehension(
    value: ast.DictComp, items: Mapping[str, Sequence[ChangedItem]]
) -> list[ChangedItem] | None:
    """Return the items of `{k: f(v) for k, v in TABLE.items()}` that follow from `TABLE`'s."""
    generator = value.generators[0]
    call = generator.iter
    table = dotted(getattr(call, "func", None)).removesuffix(".items")
    target = generator.target
    is_plain = len(value.generators) == 1 and not generator.ifs
    is_of_pairs = isinstance(target, ast.Tuple) and len(target.elts) == 2
    if table not in items or not is_plain or not is_of_pairs:
        return None
    assert isinstance(target, ast.Tuple)
    key_name, value_target = target.elts
    if dotted(value.key) != dotted(key_name) or not dotted(key_name):
        return None
    found: list[ChangedItem] = []
    for item in items[table]:
        if len(item.keys) != 1 or item.path:
            return None
        names = dict(_bound(value_target, item.value))
        key_text = repr(item.keys[0])
        names[dotted(key_name)] = ast.parse(key_text, mode="eval").body
        in_turn = value_in_turn(value.value, names)
        new_value = _Texts().visit(in_turn)
        ast.copy_location(new_value, item.value)
        found.append(ChangedItem(item.keys, new_value, item.is_new))
    return found


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names in a target, each with the part of the value that it stands for."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, (ast.Tuple, ast.List)):
        for part, inner in zip(target.elts, value.elts, strict=False):
            yield from _bound(part, inner)


class _Texts(ast.NodeTransformer):
    """Turns f-strings whose parts are all known into plain strings."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Join the parts of an f-string."""
        text = ""
        for part in node.values:
            value = part.value if isinstance(part, ast.FormattedValue) else part
            if not isinstance(value, ast.Constant):
                return node
            text += str(value.value)
        return ast.Constant(text)


def _first_field(module: Definitions, name: str) -> str:
    """Return the attribute that has the first argument of a class; '' where that is not told."""
    node = module.named.get(name)
    if not isinstance(node, ast.ClassDef):
        return ""
    for statement in node.body:
        is_field = isinstance(statement, ast.AnnAssign) and is_dataclass(node)
        if is_field and isinstance(statement, ast.AnnAssign):
            return dotted(statement.target)
        if isinstance(statement, DEFS) and statement.name == "__init__":
            return _attribute_set(statement)
    return ""


def _attribute_set(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the attribute that an `__init__` sets to its first argument, as in `self.a = a`."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if len(parameters) < 2:
        return ""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        owner, _, attribute = dotted(node.targets[0]).partition(".")
        is_argument = dotted(node.value) == parameters[1].arg
        if is_argument and owner == parameters[0].arg:
            return attribute
    return ""
