"""Finds names like that of a target which a release lacks, as it may be misspelled."""

from collections.abc import Iterator
from difflib import get_close_matches

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.moves.catalog import Catalog
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError


def did_you_mean(target: Target, release: CheckedRelease) -> str:
    """Ask whether a target that a release lacks was misspelled, for the message about it.

    Args:
        target: the target that it lacks.
        release: the release.

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
            names = [str(similar) for similar in _similar(target, release)]
        except UpstreamError:
            return ""
        if store:
            store.put("near", key, names)
    if not names:
        return ""
    alternatives = " or ".join(names)
    return f"; did you mean {alternatives}?"


def _similar(target: Target, release: CheckedRelease) -> list[Target]:
    """Find targets with similar names: in the same module, or if there is no such, in others."""
    modules = release.resolver.modules
    if modules.get(target.module) is None:
        return _in_other_modules(target, release)
    if not target.qualname:
        return []  # the module itself is there
    definitions = Catalog(modules).module(target.module)
    if definitions is None:
        return []
    # `names` lacks variables, and `tops` lacks what is inside of classes.
    names = definitions.names | definitions.tops
    matches = get_close_matches(target.qualname, sorted(names), n=2)
    return [Target(target.module, name) for name in matches]


def _in_other_modules(target: Target, release: CheckedRelease) -> list[Target]:
    """Find the targets that may be meant by one whose module does not exist.

    For the module `up.mod.f`, that is `up.mod:f` if it exists. Otherwise, it is the same name in
    modules whose names are similar.
    """
    # Without a qualname, a dot may have been written in place of the colon.
    if not target.qualname:
        for candidate in splits(target.module):
            if release.has(candidate):
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
