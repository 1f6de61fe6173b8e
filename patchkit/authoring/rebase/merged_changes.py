"""Merges the code of a row with upstream's, for `patchkit rebase`.

The versions of the code are called as in `rebasing`: `base`, `ours` and `theirs`.
"""

import ast
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from patchkit.authoring.piles.guards import CODE
from patchkit.authoring.rebase.carried import CarriedChanges, UpstreamDefinition
from patchkit.authoring.rebase.merging import merged_copy
from patchkit.authoring.rebase.subclass_members import own_members, with_members_of
from patchkit.authoring.source.body_code import BodyCode
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.edits import all_edited, edits, syntax_hash
from patchkit.authoring.source.global_names import used_names
from patchkit.authoring.source.import_lines import with_import, without_import
from patchkit.authoring.source.module_text import ModuleText
from patchkit.authoring.source.transplant import make
from patchkit.core.rows.declaration import Add, Change, Edit, Replace
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError, TargetError

_ONLY_NEW = (
    "it was written for the later release by hand, and nothing is left to keep for earlier ones; "
    "rebase it without --keep"
)


def merged_edits(
    changes: Sequence[Edit], base: str, theirs: str, *, keep: bool = False
) -> CarriedChanges:
    """Merge the Edits of one function with upstream's changes of that function.

    Args:
        changes: the Edits.
        base: the function in the old release.
        theirs: the function in the later release.
        keep: whether the Edits are to stay for the old release.

    Returns:
        The Edits for the later release, and the result: `unchanged`, `merged` or `retired`.

    Raises:
        ScaffoldError: they cannot be merged.
        TargetError: an Edit does not fit the function in the old release.
    """
    try:
        ours = all_edited(changes, base)
    except TargetError:
        if not _fit(changes, theirs):
            raise
        # A person has resolved a conflict, and written them for the later release.
        if keep:
            raise ScaffoldError(_ONLY_NEW) from None
        return CarriedChanges("merged", changes)
    text = merged_copy(base, ours, theirs)
    if syntax_hash(text) == syntax_hash(theirs):
        return CarriedChanges("retired", ())  # upstream has all that the Edits change
    # The Edits as they are may result in the merged text, too.
    with suppress(TargetError, SyntaxError):
        if syntax_hash(all_edited(changes, theirs)) == syntax_hash(text):
            return CarriedChanges("unchanged", changes)
    text_edits = edits(theirs, text)
    if text_edits is None:
        raise ScaffoldError("no Edits make the merged text of upstream's")
    first = changes[0]
    # The new Edits differ from the old ones in their texts alone.
    new_changes = [
        first.__replace__(old=edit.old, new=edit.new, count=1) for edit in text_edits
    ]
    return CarriedChanges("merged", new_changes)


def _fit(changes: Sequence[Edit], text: str) -> bool:
    """Whether Edits can be made in the text of a function, which compiles afterwards."""
    try:
        syntax_hash(all_edited(changes, text))
    except (TargetError, SyntaxError):
        return False
    return True


def merged_replacement(
    change: Replace,
    old: UpstreamDefinition,
    new: UpstreamDefinition,
    body: ModuleText,
    name_in_body: Callable[[str, Definitions], str],
    *,
    keep: bool = False,
    is_shared: bool = False,
) -> CarriedChanges:
    """Merge a definition of a body with upstream's changes of what it replaces.

    Of a class that derives from upstream's, each member is merged with the one that it overrides.

    Args:
        change: the Replace that refers to the definition.
        old: its target in the old release.
        new: its target in the later release, which differs.
        body: the text of the body, into which the merged definition is written.
        name_in_body: chooses the name of the merged definition in the body.
        keep: whether the definition is to stay for the old release.
        is_shared: whether the body is also that of other rows.

    Returns:
        The Replace for the later release, and the result: `unchanged`, `merged` or `retired`. A
        class that derives from upstream's is to be reviewed: its text lacks the other members.

    Raises:
        ScaffoldError: they cannot be merged.
    """
    # In a guarded body, the definition is in the module that this body imports as `code`.
    by = change.by.removeprefix(CODE)
    versions = _versions(change, by, old, new, body.read())
    to_review: list[Target] = []
    if versions.is_subclass:
        to_review.append(change.place)
    if syntax_hash(versions.base) == syntax_hash(versions.theirs):
        return CarriedChanges("unchanged", [change], to_review)
    text = merged_copy(versions.base, versions.ours, versions.theirs)
    is_upstreams = syntax_hash(text) == syntax_hash(versions.theirs)
    # Members of its own are in all three versions, so they make no difference between the hashes.
    if is_upstreams and not versions.own_members:
        return CarriedChanges("retired", ())
    if syntax_hash(text) == syntax_hash(versions.ours):
        # It has what upstream changed: a person has written it for the later release.
        if keep:
            raise ScaffoldError(_ONLY_NEW)
        _import_at_top(body, _missing_imports(text, body.read(), new.module))
        return CarriedChanges("merged", [change], to_review)
    new_name = name_in_body(by, body.read())
    # What else is in the body is for the later release alone, or for earlier ones, too.
    is_for_earlier = keep or is_shared
    write_merged(body, text, by, new_name, new.module, imports_inside=is_for_earlier)
    new_by = change.by.replace(by, new_name)
    merged_change = change.__replace__(by=new_by)
    return CarriedChanges("merged", [merged_change], to_review)


class _Versions(NamedTuple):
    """The three versions of a definition, under one name.

    Args:
        base: that of the old release.
        ours: that of the body.
        theirs: that of the later release.
        is_subclass: whether ours derives from upstream's class, and has but some of its members.
        own_members: the members of such a class that are the same in all versions.
    """

    base: str
    ours: str
    theirs: str
    is_subclass: bool = False
    own_members: Collection[str] = ()


def _versions(
    change: Replace,
    by: str,
    old: UpstreamDefinition,
    new: UpstreamDefinition,
    definitions: Definitions,
) -> _Versions:
    """Return the versions of a definition that are merged.

    Args:
        change: the Replace that refers to it.
        by: its qualified name in the body.
        old: its target in the old release.
        new: its target in the later release.
        definitions: the body.

    Returns:
        The versions; those of a class that derives from upstream's have only the body's members.
    """
    # They get the same name, so that a renaming is no change in them.
    name = by.rpartition(".")[2]
    ours = definitions.renamed(by, name)
    is_class = isinstance(definitions.named[by], ast.ClassDef)
    if is_class and not change.unrelated:
        own = own_members(ours, name, [old, new])
        base = with_members_of(ours, name, old, own)
        theirs = with_members_of(ours, name, new, own)
        return _Versions(base, ours, theirs, is_subclass=True, own_members=own)
    base = old.module.as_in_body(old.qualname, name)
    theirs = new.module.as_in_body(new.qualname, name)
    return _Versions(base, ours, theirs)


def write_merged(
    body: ModuleText,
    text: str,
    by: str,
    new_name: str,
    upstream: Definitions,
    *,
    imports_inside: bool,
) -> None:
    """Write a merged definition into a body, with the imports that it needs.

    Imports that nothing needs any more are taken out: upstream may have taken out what they import.

    Args:
        body: the text of the body, which is changed.
        text: the merged definition.
        by: the qualified name of the row's definition in the body.
        new_name: the name of the merged definition there: `by` to replace the old one.
        upstream: the module of the later release that it was merged with.
        imports_inside: whether imports go inside the definition, and none is taken out, as a
            release before the later one lacks what they import, or needs it.
    """
    definitions = body.read()
    used_before = used_names(definitions.renamed(by, by.rpartition(".")[2]))
    merged_module = Definitions.of("merged.py", text.encode())  # no file has that name
    imports = _missing_imports(text, definitions, upstream)
    if imports_inside:
        merged_module.imports.update(imports)
    else:
        _import_at_top(body, imports)
    # `make` writes changes of a module; here that is the body's own text, so that the row's
    # definition in it is replaced, or one is added. It reads only the name of this target.
    target = f"body:{new_name}"
    name_in_merged = by.rpartition(".")[2]
    change: Change = Replace(target, by=name_in_merged)
    if new_name != by:
        change = Add(target, by=name_in_merged)
    make(body, change, new_name, BodyCode(merged_module))
    if not imports_inside:
        _drop_unneeded(body, used_before & definitions.imports.keys())


def _drop_unneeded(body: ModuleText, names: Collection[str]) -> None:
    """Take the imports of those names out of a body that nothing else in its text mentions.

    Args:
        body: the text of the body, which is changed.
        names: names that it imports.
    """
    for name in sorted(names):
        shortened = without_import(body.read().tree, name)
        # Searched as a word, as it may be in an annotation, which is text to Python, or a string.
        if not re.search(rf"\b{name}\b", shortened):
            body.text = shortened


def _missing_imports(
    text: str, body: Definitions, upstream: Definitions
) -> dict[str, str]:
    """Return imports of what code uses of upstream's module, and its body does not bind.

    Args:
        text: the code.
        body: the body.
        upstream: the module.

    Returns:
        For each name, the statement.
    """
    imports = {
        name: f"from {upstream.tree.name} import {name}" for name in upstream.named
    }
    imports.update(upstream.imports)
    missing = used_names(text) - body.binders.keys()
    return {name: imports[name] for name in sorted(imports.keys() & missing)}


def _import_at_top(body: ModuleText, imports: Mapping[str, str]) -> None:
    """Write imports at the top of a body.

    Upstream's module is imported before the body, and with it all that it imports.

    Args:
        body: the text of the body, which is changed.
        imports: the statements, by the names that they bind.
    """
    for statement in imports.values():
        body.text = with_import(body.read().tree, statement)
