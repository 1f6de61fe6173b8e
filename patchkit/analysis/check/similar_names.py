"""Finds names like that of a target which a release lacks, as it may be misspelled."""

import ast
import re
from collections.abc import Iterable, Iterator, Set
from difflib import get_close_matches

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.moves.catalog import Catalog, SourceFile, block
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.core.rows.target import Item, Target
from patchkit.errors import UpstreamError

_SIMILAR = 0.6
"""How alike two names have to be, from 0 to 1, if one of them is known to be absent."""
NEARLY_EQUAL = 0.9
"""How alike they have to be if nobody knows whether it is."""
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_TRIED = 8
"""How many words of a text are looked up at most, the most similar first."""
_SLIP = 2
"""How many letters more or less a word may have; it begins or ends with as many of a name."""
_OFFERED = 2
"""How many names a message offers at most."""


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
    """Find targets with similar names in the module of a target; none if it has that very name.

    A member of the same class is preferred to everything else.
    """
    modules = release.resolver.modules
    catalog = Catalog(modules)
    file = catalog.module(target.module)
    if file is None:
        return []
    # `names` lacks variables, and `tops` lacks what is inside of classes.
    names = file.names | file.tops
    if target.qualname in names:
        return []
    holder = target.holder
    if not holder.qualname:
        return _verified(target, names, file.text, release, likeness)
    members = _similar_members(target, catalog, release, likeness)
    if members:
        return members
    # The members of that class are known not to be similar.
    elsewhere = {name for name in names if not name.startswith(f"{holder.qualname}.")}
    # Of a member, its own name has to be similar, and not only the class that it is looked up in.
    alike = {
        name for name in elsewhere if _last_is_similar(name, target.qualname, likeness)
    }
    matches = get_close_matches(target.qualname, sorted(alike), cutoff=likeness)
    of_classes = _in_similar_classes(target, file, release, likeness)
    similar = of_classes or [Target(target.module, name) for name in matches]
    return [candidate for candidate in similar if candidate != holder][:_OFFERED]


def _last_is_similar(name: str, other: str, likeness: float) -> bool:
    """Whether what stands after the last dots of two names is alike."""
    last = name.rpartition(".")[2]
    return bool(get_close_matches(other.rpartition(".")[2], [last], cutoff=likeness))


def _similar_members(
    target: Target, catalog: Catalog, release: CheckedRelease, likeness: float
) -> list[Target]:
    """Find members with similar names in the class that holds a target, or else in its bases.

    The class may be imported from elsewhere: `up:C` for `up.mod:C`.
    """
    for module, qualname in _classes(target.holder, catalog, release):
        file = catalog.module(module)
        if file is None:
            continue
        for definition in file.definitions:
            if definition.kind == "class" and definition.qualname == qualname:
                prefix = f"{qualname}."
                methods = {
                    name.removeprefix(prefix)
                    for name in file.names
                    if name.startswith(prefix)
                }
                text = block(file.text, definition)
                members = _verified(target, methods, text, release, likeness)
                if members:
                    return members
    return []


def _classes(
    holder: Target, catalog: Catalog, release: CheckedRelease
) -> Iterator[tuple[str, str]]:
    """Yield the module and the qualname of the class that holds a target, then of its bases."""
    file = catalog.module(holder.module)
    is_here = file is not None and holder.qualname in file.names
    if is_here:
        yield holder.module, holder.qualname
    # A file is parsed only where the names in the class were not enough.
    resolution = release.resolver.resolve(holder)
    if resolution.defined and not is_here:
        yield resolution.defined.module, resolution.defined.qualname
    for base in resolution.bases:
        yield base.module, base.qualname


def _verified(
    target: Target,
    defined: Set[str],
    text: bytes,
    release: CheckedRelease,
    likeness: float,
) -> list[Target]:
    """Find the names similar to the last one of a target that its module or class has.

    Fields, imported names and those that a `__getattr__` provides stand in the text as words; which
    of the words are such names, the resolver knows.

    Args:
        target: the target.
        defined: the names that are known to be there.
        text: the text of the module or the class.
        release: the release.
        likeness: how alike names have to be, from 0 to 1.
    """
    holder = target.holder
    prefix = f"{holder.qualname}." if holder.qualname else ""
    name = target.qualname.removeprefix(prefix)
    wanted = name.encode()
    slips = {word for word in _WORD.findall(text) if _may_be_slip(word, wanted)}
    words = {word.decode(errors="replace") for word in slips}
    words = {word for word in words if word.isidentifier()}
    candidates = (words | defined) - {name}
    similar: list[Target] = []
    for match in get_close_matches(name, sorted(candidates), n=_TRIED, cutoff=likeness):
        candidate = Target(target.module, f"{prefix}{match}")
        if match in defined or _is_present(candidate, release):
            similar.append(candidate)
        if len(similar) == _OFFERED:
            break
    return similar


def _may_be_slip(word: bytes, name: bytes) -> bool:
    """Whether a word is about as long as a name and begins or ends like it: others take seconds."""
    if abs(len(word) - len(name)) > _SLIP:
        return False
    if word[:1] == name[:1] and word[-1:] == name[-1:]:
        return True
    return word[:_SLIP] == name[:_SLIP] or word[-_SLIP:] == name[-_SLIP:]


def _in_similar_classes(
    target: Target, file: SourceFile, release: CheckedRelease, likeness: float
) -> list[Target]:
    """Find a target in the classes whose names are similar to that of its own, which is absent."""
    holder = target.holder.qualname
    if holder in file.names:
        return []
    member = target.steps[-1]
    classes = [item.qualname for item in file.definitions if item.kind == "class"]
    matches = get_close_matches(holder, classes, n=_TRIED, cutoff=likeness)
    candidates = [Target(target.module, f"{name}.{member}") for name in matches]
    return [candidate for candidate in candidates if _is_present(candidate, release)]


def _is_present(target: Target, release: CheckedRelease) -> bool:
    """Whether a release has a target, looked up without a note among the facts about it."""
    return release.resolver.resolve(target).state == "present"


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
    present = [candidate for candidate in candidates if _is_present(candidate, release)]
    return [candidate for candidate in present if not _is_import(candidate, release)]


def _is_import(target: Target, release: CheckedRelease) -> bool:
    """Whether a module merely imports a target; a package does so to offer it to others."""
    modules = release.resolver.modules
    path = modules.path(target.module) or ""
    if path.endswith("__init__.py"):
        return False
    holder = Target(target.module, str(target.steps[0])) if target.steps else target
    defined = release.resolver.resolve(holder).defined
    return defined is not None and defined.module != target.module


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
