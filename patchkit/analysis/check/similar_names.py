"""Finds names like that of a target which a release lacks, as it may be misspelled."""

import ast
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.moves.catalog import Catalog
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.core.rows.target import Item, Target
from patchkit.errors import UpstreamError

_SIMILAR = 0.6
"""How alike two names have to be, from 0 to 1, if one of them is known to be absent."""
NEARLY_EQUAL = 0.9
"""How alike they have to be if nobody knows whether it is."""


def did_you_mean(
    target: Target, release: CheckedRelease, likeness: float = _SIMILAR
) -> str:
    """Ask whether a target that a release lacks was misspelled, for the message about it.

    Args:
        target: the target that it lacks, or of which it does not tell whether it has it.
        release: the release.
        likeness: how alike names have to be, from 0 to 1.

    Returns:
        The end of a sentence, `; did you mean a:f?`; '' where no name is similar.
    """
    store = release.store
    key = f"{release.key} {target}"
    names: list[str] | None = None
    if store:
        names = store.get("near", key)
    if names is None:
        try:
            similar_targets = _similar(target, release, likeness)
            names = [str(similar) for similar in similar_targets]
        except UpstreamError:
            return ""
        if store:
            store.put("near", key, names)
    if not names:
        return ""
    alternatives = " or ".join(names)
    return f"; did you mean {alternatives}?"


def _similar(target: Target, release: CheckedRelease, likeness: float) -> list[Target]:
    """Find targets with similar names: in the same module, or if there is no such, in others."""
    modules = release.resolver.modules
    if target.module not in modules:
        return _in_other_modules(target, release)
    if not target.qualname:
        return []  # the module itself is there
    if isinstance(target.steps[-1], Item):
        return _similar_items(target, release) or _similar_names(
            target.holder, release, likeness
        )
    return _similar_names(target, release, likeness)


def _similar_items(target: Target, release: CheckedRelease) -> list[Target]:
    """Find the items with similar keys in the table that holds a target."""
    holder = target.holder
    key = str(getattr(target.steps[-1], "key", ""))
    keys = _keys_in(release.resolver.resolve(holder).nodes)
    matches = get_close_matches(key, sorted(keys), n=2)
    return [Target(target.module, f"{holder.qualname}{Item(name)}") for name in matches]


def _keys_in(statements: Iterable[ast.AST]) -> set[str]:
    """Return the keys that are texts of every table that statements spell out."""
    keys = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Dict):
                for key in node.keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        keys.add(key.value)
    return keys


def _similar_names(
    target: Target, release: CheckedRelease, likeness: float
) -> list[Target]:
    """Find targets with similar names in the module of a target; none if it has that very name."""
    modules = release.resolver.modules
    definitions = Catalog(modules).module(target.module)
    if definitions is None:
        return []
    # `names` lacks variables, and `tops` lacks what is inside of classes.
    names = definitions.names | definitions.tops
    if target.qualname in names:
        return []
    matches = get_close_matches(target.qualname, sorted(names), n=2, cutoff=likeness)
    return [Target(target.module, name) for name in matches]


def _in_other_modules(target: Target, release: CheckedRelease) -> list[Target]:
    """Find the targets that may be meant by one whose module does not exist.

    For `up.mod.f` and `up.mod.C:f`, these are `up.mod:f` and `up.mod:C.f` if they exist. Otherwise,
    it is the same name in modules whose names are similar.
    """
    # The colon may be missing, or stand behind another part of the name.
    if not any(isinstance(step, Item) for step in target.steps):
        for candidate in splits(str(target).replace(":", ".")):
            if candidate != target and release.has(candidate):
                return [candidate]
    names = []
    for path in release.source.paths():
        if path.endswith(".py"):
            name = module_name(path)
            names.append(name)
    matches = get_close_matches(target.module, names, cutoff=0.8)
    candidates = [Target(name, target.qualname) for name in matches]
    resolve = release.resolver.resolve
    return [
        candidate for candidate in candidates if resolve(candidate).state == "present"
    ]


def splits(dotted: str) -> Iterator[Target]:
    """Yield the targets that a dotted name may stand for: `up.mod:f` and `up:mod.f` for `up.mod.f`.

    Args:
        dotted: the dotted name.
    """
    parts = dotted.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:end])
        qualname = ".".join(parts[end:])
        yield Target(module, qualname)
