"""Drops the rows of modules of a pile of which it was observed that reading gives another value."""

import re
from collections.abc import Collection
from typing import NamedTuple

from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.piles.row_names import unused
from patchkit.core.rows.declaration import Patch


class DroppedRows(NamedTuple):
    """Rows that were dropped.

    Args:
        targets: Their targets.
        modules: The modules of the pile whose code the pack still has, and no row any more.
    """

    targets: Collection[str]
    modules: Collection[str]


def drop_rows(pile: PileRows, wrong: Collection[str]) -> DroppedRows:
    """Drop the rows that have some targets, and all other rows of their bodies.

    A wrong row means that its module was misread. As the body is loaded, code in it may need what
    the other rows would set only later.

    Args:
        pile: The rows.
        wrong: The targets.

    Returns:
        The rows that were dropped.
    """
    bodies = set[str]()
    for patch in pile.patches:
        targets = {str(change.place) for change in patch.changes}
        if patch.body and not targets.isdisjoint(wrong):
            bodies.add(patch.body)
    kept_rows = list[Patch]()
    dropped = set[str]()
    for patch in pile.patches:
        if patch.body in bodies:
            dropped.update(str(change.place) for change in patch.changes)
        else:
            kept_rows.append(patch)
    pile.patches = kept_rows
    modules = list[str]()
    for body in sorted(bodies):
        modules += _keep_as_code(pile, body)
    return DroppedRows(dropped, modules)


def _keep_as_code(pile: PileRows, body: str) -> list[str]:
    """Give a body that no row has another name, as a pack has a row for every `patch_` file.

    Other bodies may import its code: they do so by the new name.

    Args:
        pile: The rows.
        body: The name of the body, such as `patch_lib`, which becomes `code_lib`.

    Returns:
        The modules of the pile whose text the body has, one at most; none where the body only
        imports code: then it is deleted, and the code stays where it is.
    """
    text = pile.bodies.pop(body)
    old_name = f"{pile.pack}.{body}"
    modules = list[str]()
    for module, code in pile.codes.items():
        if code == old_name:
            modules.append(module)
    if not modules:
        return modules
    name_of_code = body.replace("patch_", "code_", 1)
    name = unused(name_of_code, pile.bodies)
    new_name = f"{pile.pack}.{name}"
    pile.bodies[name] = text
    for module in modules:
        pile.codes[module] = new_name
        if module in pile.stand_ins:
            pile.stand_ins[module] = new_name
    old_name_alone = re.compile(rf"\b{re.escape(old_name)}\b")
    for importer, importer_text in pile.bodies.items():
        pile.bodies[importer] = old_name_alone.sub(new_name, importer_text)
    return modules
