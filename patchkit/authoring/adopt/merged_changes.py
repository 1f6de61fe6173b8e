"""Merges the code of a row with upstream's, for `patchkit rebase`.

The versions of the code are called as in `rebasing`: `base`, `ours` and `theirs`.
"""

from collections.abc import Sequence
from contextlib import suppress

from patchkit.authoring.adopt.body_code import BodyCode
from patchkit.authoring.adopt.carried import CarriedChanges
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.edits import all_edited, edits, syntax_hash
from patchkit.authoring.adopt.merging import merged_copy
from patchkit.authoring.adopt.module_text import ModuleText
from patchkit.authoring.adopt.transplant import make
from patchkit.core.rows.declaration import Add, Change, Edit, Replace
from patchkit.errors import ScaffoldError, TargetError


def merged_edits(changes: Sequence[Edit], base: str, theirs: str) -> CarriedChanges:
    """Merge the Edits of one function with upstream's changes of that function.

    Args:
        changes: the Edits.
        base: the function in the old release.
        theirs: the function in the later release.

    Returns:
        The Edits for the later release, and whether they are others than before.

    Raises:
        ScaffoldError: they cannot be merged.
        TargetError: an Edit does not fit the function in the old release.
    """
    text = merged_copy(base, all_edited(changes, base), theirs)
    if syntax_hash(text) == syntax_hash(theirs):
        return CarriedChanges("retired", ())
    # The Edits as they are may result in the merged text, too.
    with suppress(TargetError, SyntaxError):
        if syntax_hash(all_edited(changes, theirs)) == syntax_hash(text):
            return CarriedChanges("unchanged", changes)
    text_edits = edits(theirs, text)
    if text_edits is None:
        raise ScaffoldError("no Edits make the merged text of upstream's")
    first = changes[0]
    new_changes = [
        first.__replace__(old=edit.old, new=edit.new, count=1) for edit in text_edits
    ]
    return CarriedChanges("merged", new_changes)


def write_merged(
    body: ModuleText, text: str, by: str, new_name: str, upstream: Definitions
) -> None:
    """Write a merged definition into a body, with the imports that it needs.

    Args:
        body: the text of the body, which is changed.
        text: the merged definition.
        by: the qualified name of the row's definition in the body.
        new_name: the name of the merged definition there: `by` to replace the old one.
        upstream: the module of the later release that it was merged with.
    """
    definitions = body.read()
    merged_module = Definitions.of("merged.py", text.encode())  # no file has that name
    # Names of the body, and those that the row's code uses already, are known there. For any other
    # name that upstream's module has, `make` gets an import that it writes if the name is used.
    known_names = {*definitions.named, *definitions.imports}
    known_names |= names_in(definitions.named[by])
    imports = {
        defined: f"from {upstream.tree.name} import {defined}"
        for defined in upstream.named
    }
    imports.update(upstream.imports)
    for bound, statement in imports.items():
        if bound not in known_names:
            merged_module.imports[bound] = statement
    # `make` writes changes of a module; here that is the body's own text, so that the row's
    # definition in it is replaced, or one is added. It reads only the name of this target.
    target = f"body:{new_name}"
    name_in_merged = by.rpartition(".")[2]
    change: Change = Replace(target, by=name_in_merged)
    if new_name != by:
        change = Add(target, by=name_in_merged)
    make(body, change, new_name, BodyCode(merged_module))
