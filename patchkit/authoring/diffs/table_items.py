"""Compares two versions of a table: which of its items differ, so that a row needs only these."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.core.rows.target import Item, Target


class ChangedItem(NamedTuple):
    """An item of a table that is new, or has another value.

    Args:
        keys: The keys that lead to it: one, or more in a table of tables.
        value: Its value in the new text.
        is_new: Whether the old text lacks it.
        path: The attribute of an object that has the table, such as `.models`; '' for a table.
    """

    keys: Sequence[object]
    value: ast.expr
    is_new: bool
    path: str = ""

    def target(self, table: str) -> str:
        """Return the target of the item.

        Args:
            table: The target of the table, or of the object that has it.
        """
        target = f"{table}{self.path}"
        for key in self.keys:
            target += str(Item(key))
        return target


def changed_items(
    old: ast.expr | None, new: ast.expr | None
) -> list[ChangedItem] | None:
    """Return the items by which one version of a table differs from another.

    Args:
        old: The value of the table in the old text; None for what is no value.
        new: Its value in the new text.

    Returns:
        The items; None where the table differs otherwise, as no row removes or moves an item, or
        where hardly anything of it stays.
    """
    if isinstance(old, ast.Dict) and isinstance(new, ast.Dict):
        return _of_dicts(old, new)
    if isinstance(old, ast.List) and isinstance(new, ast.List):
        return _of_lists(old, new)
    return None


def _of_dicts(old: ast.Dict, new: ast.Dict) -> list[ChangedItem] | None:
    """Return the items of a dict that are new or changed, as `changed_items` does.

    None where rows with an item each cannot make the new dict of the old one.
    """
    old_values = _values_by_key(old)
    new_values = _values_by_key(new)
    if old_values is None or new_values is None:
        return None  # a key is there twice
    # No row removes or moves an item: those that stay have to be all old ones, in their order.
    staying = [key for key in new_values if key in old_values]
    if staying != list(old_values):
        return None
    changed: list[str] = []
    for key, value in new_values.items():
        if not _is_same(old_values.get(key), value):
            changed.append(key)
    all_keys = list(new_values)
    if not _are_behind_unpacked(changed, all_keys):
        return (
            None  # a later `**TABLE` may have the same key, and its value counts then
        )
    items: list[ChangedItem] = []
    for text in changed:
        try:
            key = ast.literal_eval(text)
            # Whether a target can name the item, of whichever module and table.
            Target.parse(f"m:t{Item(key)}")
        except ValueError:  # a name, or text with a bracket in it
            return None
        old_value = old_values.get(text)
        new_value = new_values[text]
        items += _items_at(key, old_value, new_value)
    return _unless_all_differ(items, len(old_values))


def _is_same(old: ast.expr | None, new: ast.expr) -> bool:
    """Whether two values are written alike; None is no value."""
    if old is None:
        return False
    return ast.dump(old) == ast.dump(new)


def _items_at(
    key: object, old: ast.expr | None, new: ast.expr
) -> Iterator[ChangedItem]:
    """Yield the changed item of a key; if it is a table itself, the changed items of that."""
    inner_items = changed_items(old, new)
    if not inner_items:
        is_new = old is None
        yield ChangedItem((key,), new, is_new)
        return
    for item in inner_items:
        keys = (key, *item.keys)
        yield item._replace(keys=keys)


def _values_by_key(table: ast.Dict) -> Mapping[str, ast.expr] | None:
    """Return the values of a dict by the text of their keys; None where a key is there twice.

    The key of what is unpacked, as in `{**TABLE}`, begins with `**`.
    """
    values: dict[str, ast.expr] = {}
    for key, value in zip(table.keys, table.values, strict=True):
        if key is None:
            unpacked = ast.unparse(value)
            text = f"**{unpacked}"
        else:
            text = ast.unparse(key)
        if text in values:
            return None
        values[text] = value
    return values


def _are_behind_unpacked(changed: Sequence[str], keys: Sequence[str]) -> bool:
    """Whether all changed items stand behind what is unpacked, as in `{**TABLE, "a": 1}`.

    What is unpacked behind an item may have the same key, and its value then.
    """
    last_unpacked = -1
    for index, key in enumerate(keys):
        if key.startswith("**"):
            last_unpacked = index
    keys_behind = keys[last_unpacked + 1 :]
    return set(changed) <= set(keys_behind)


def _of_lists(old: ast.List, new: ast.List) -> list[ChangedItem] | None:
    """Compare two lists of the same length, element by element."""
    if len(old.elts) != len(new.elts):
        return None
    elements = [*old.elts, *new.elts]
    if any(isinstance(node, ast.Starred) for node in elements):
        return None
    items: list[ChangedItem] = []
    pairs = zip(old.elts, new.elts, strict=True)
    for index, (before, after) in enumerate(pairs):
        if not _is_same(before, after):
            items += _items_at(index, before, after)
    return _unless_all_differ(items, len(old.elts))


def _unless_all_differ(items: list[ChangedItem], size: int) -> list[ChangedItem] | None:
    """Return changed items; None if they are all that a table of some size had.

    Then nothing of the table stays.
    """
    replaced = [item for item in items if len(item.keys) == 1 and not item.is_new]
    if len(replaced) == size:
        return None
    return items
