"""Finds which items of other tables follow from changed items of one, as a module makes them.

`ALL = {**SOME, **MORE}` has the items of `SOME`, and a registry that is made by
`Registry({name: Entry(value) for name, value in ALL.items()})` has an entry for each.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.diffs.compared_names import is_dataclass
from patchkit.authoring.diffs.table_items import ChangedItem
from patchkit.authoring.source.definitions import Definitions, names_in
from patchkit.authoring.source.loops import value_in_turn

_Table = dict[object, ast.expr]
"""The values of a table, by key."""


def with_derived(
    before: Definitions,
    after: Definitions,
    items: Mapping[str, Sequence[ChangedItem]],
    changed: Collection[str],
) -> dict[str, list[ChangedItem]]:
    """Return changed items of tables, with those that follow from them in other tables.

    Args:
        before: The old version of the module.
        after: The new version.
        items: The items that differ, by the name of their table.
        changed: The names whose statements differ, such as those of these tables. Nothing is added
            for them: their own changes bring their new values.

    Returns:
        The items by table; none for a table that is made from a changed one and stays the same.
    """
    items_by_table: dict[str, list[ChangedItem]] = {}
    for name, changed_in_table in items.items():
        items_by_table[name] = list(changed_in_table)
    inner_tables = set(_changed_inside(after, items))
    # In the order of the text: a table stands below those that it is made from.
    for name, node in after.named.items():
        value = getattr(node, "value", None)
        is_of_class = "." in name
        if name in changed or is_of_class or value is None:
            continue
        # `ALIAS = TABLE` is the same table, and has its items already.
        is_alias = isinstance(value, ast.Name)
        if is_alias or names_in(value).isdisjoint(items_by_table):
            continue
        derived = _derived(before, after, value, inner_tables)
        if derived is not None:
            items_by_table[name] = derived
    return items_by_table


def _changed_inside(
    module: Definitions, items: Mapping[str, Sequence[ChangedItem]]
) -> Iterator[int]:
    """Yield the ids of tables in a table that stay the same objects, and get other items.

    They are told by identity, as another table with the same text is another object.
    """
    for name, changed_in_table in items.items():
        value = getattr(module.named[name], "value", None)
        table = _table(module, value) or {}
        for item in changed_in_table:
            first_key = item.keys[0]
            is_inside = len(item.keys) > 1
            if is_inside and first_key in table:
                yield id(table[first_key])


def _derived(
    before: Definitions,
    after: Definitions,
    value: ast.expr,
    inner_tables: Collection[int],
) -> list[ChangedItem] | None:
    """Return the items by which what an expression makes differs; None if that is not told.

    The expression is made of tables, or is a call that keeps one, as `Registry({…})` does.

    Args:
        before: The old version of the module.
        after: The new version.
        value: The expression, which is the same in both.
        inner_tables: The ids of values that stay the same objects, and get other items.
    """
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        (argument,) = value.args
        class_name = dotted(value.func)
        attribute = _first_field(after, class_name)
        inner_items = _derived(before, after, argument, inner_tables)
        if not attribute or inner_items is None:
            return None
        path = f".{attribute}"
        return [item._replace(path=path) for item in inner_items if not item.path]
    old = _table(before, value)
    new = _table(after, value)
    if old is None or new is None or not old.keys() <= new.keys():
        return None
    items: list[ChangedItem] = []
    for key, item_value in new.items():
        is_new = key not in old
        is_same = not is_new and ast.dump(old[key]) == ast.dump(item_value)
        # A table of which an item changes is the same object here: it has that item already.
        is_changed_inside = id(item_value) in inner_tables
        if not is_same and not is_changed_inside:
            item = ChangedItem((key,), item_value, is_new)
            items.append(item)
    return items


def _table(module: Definitions, node: ast.expr | None, depth: int = 9) -> _Table | None:
    """Return the table that an expression makes; None if the text does not tell it.

    Args:
        module: The module.
        node: The expression.
        depth: How many names are followed.
    """
    if isinstance(node, ast.Name) and depth:
        # A name that several statements set may stand for any of them.
        setters = module.binders.get(node.id, ())
        if len(setters) != 1:
            return None
        definition = module.named.get(node.id)
        value = getattr(definition, "value", None)
        return _table(module, value, depth - 1)
    if isinstance(node, ast.Dict):
        return _of_display(module, node, depth)
    if isinstance(node, ast.DictComp):
        return _of_comprehension(module, node, depth)
    return None


def _of_display(module: Definitions, node: ast.Dict, depth: int) -> _Table | None:
    """Return the table of `{"a": 1, **TABLE}`."""
    table: _Table = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant):
            table[key.value] = value
            continue
        # The key of `**TABLE` is None; any other key is no constant here.
        unpacked = _table(module, value, depth)
        if key is not None or unpacked is None:
            return None
        table.update(unpacked)
    return table


def _of_comprehension(
    module: Definitions, node: ast.DictComp, depth: int
) -> _Table | None:
    """Return the table of `{k: f(v) for k, v in TABLE.items() if v == 1}`; None for other forms."""
    generator = node.generators[0]
    function = getattr(generator.iter, "func", None)
    target = generator.target
    if len(node.generators) != 1:
        return None
    if not isinstance(function, ast.Attribute) or function.attr != "items":
        return None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    source = _table(module, function.value, depth)
    key_target, value_target = target.elts
    key_name = dotted(key_target)
    if source is None or dotted(node.key) != key_name:
        return None
    table: _Table = {}
    for key, value in source.items():
        # The values of the loop's variables in this turn, as expressions.
        loop_values = dict(_bound(value_target, value))
        key_text = repr(key)
        loop_values[key_name] = ast.parse(key_text, mode="eval").body
        tests = [value_in_turn(test, loop_values) for test in generator.ifs]
        answers = [_holds(test) for test in tests]
        if None in answers:  # a test that cannot be read
            return None
        if all(answers):
            new_value = value_in_turn(node.value, loop_values)
            table[key] = _Texts().visit(new_value)
    return table


def _holds(test: ast.expr) -> bool | None:
    """Return whether two literals are equal, or are not; None for another test."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    try:
        left = ast.literal_eval(test.left)
        right = ast.literal_eval(test.comparators[0])
    except ValueError:
        return None
    (sign,) = test.ops
    if isinstance(sign, ast.Eq):
        return bool(left == right)
    if isinstance(sign, ast.NotEq):
        return bool(left != right)
    return None


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
    """Return the attribute in which an object has the first argument that its class is called with.

    Args:
        module: The module.
        name: The name of the class.

    Returns:
        The attribute; '' where that is not told, or where the name is none of a class.
    """
    node = module.named.get(name)
    if not isinstance(node, ast.ClassDef):
        return ""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and is_dataclass(node):
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
