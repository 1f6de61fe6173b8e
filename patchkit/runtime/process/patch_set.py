"""Hashes the patches that are selected for a role, with the packs that they are in."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import PathFinder, all_suffixes

from patchkit.core.record import Record
from patchkit.core.rows.canonical import canonical
from patchkit.core.rows.declaration import Change, Role, Row
from patchkit.registry import is_own_pack
from patchkit.runtime.process.eligibility import YES, EligibilityTable, eligibility
from patchkit.runtime.process.patch_state import PatchState

PatchSet = Mapping[str, "PatchDigest"]

_FIELDS_LEFT_OUT = {"changes", "requires", "roles", "why", "upstream", "sunset"}
"""Fields that `fingerprint` hashes apart (changes), or that do not change what a row does."""


class PatchDigest(Record):
    """What processes compare for one patch.

    Args:
        at: Its position among the patches of the role, in the order in which they apply.
        code: The hash of the row, its body and its data files.
        pack: The hash of all modules of its pack, which bodies may import.
        is_open: Whether the row's `when` was not called yet in this process, and may skip it.
    """

    at: int
    code: str
    pack: str
    is_open: bool = False


def patch_set(
    states: Iterable[PatchState], table: EligibilityTable, role: Role
) -> dict[str, PatchDigest]:
    """Hash the patches that are selected for a role here.

    Args:
        states: The patches of this process, in the order in which they apply.
        table: Decides which of them apply here.
        role: The role.

    Returns:
        The digest of each patch, by its name.
    """
    selected = [
        state
        for state in states
        if role in state.row.roles and _is_selected(state, table)
    ]
    packs = {state.row.pack for state in selected}
    pack_digests = {pack: modules_digest(pack) for pack in packs}
    digests: dict[str, PatchDigest] = {}
    for position, state in enumerate(selected):
        row = state.row
        digests[state.name] = PatchDigest(
            at=position,
            code=fingerprint(row),
            pack=pack_digests[row.pack],
            is_open=_awaits_when(state),
        )
    return digests


def digest(patches: PatchSet) -> str:
    """Hash a patch set.

    Args:
        patches: The digests of its patches, by their names.

    Returns:
        The hash; two are equal if the patches, their order and patchkit's version are.
    """
    lines = [own_version()]
    for name in in_order(patches):
        patch = patches[name]
        lines.append(f"{name} {patch.code} {patch.pack}")
    return hash_of(line.encode() for line in lines)


def fingerprint(row: Row) -> str:
    """Hash all that decides what a row does.

    Args:
        row: The row.

    Returns:
        The hash of its declaration, its body and its data files.
    """
    fields = dict(vars(row.patch))
    for name in _FIELDS_LEFT_OUT:
        fields.pop(name, None)
    changes = [_declared(change) for change in row.patch.changes]
    declared = "\n".join([canonical(fields), *changes])
    data = [_data_file(row.pack, name) for name in row.patch.data]
    body = body_bytes(row)
    return hash_of((declared.encode(), body, *data))


def digest_for_caches(
    patches: Iterable[PatchState], table: EligibilityTable, role: Role
) -> str:
    """Hash the patches for a role, without patchkit's own.

    Args:
        patches: All patches of this process.
        table: Decides which of them apply here.
        role: The role.

    Returns:
        The hash; '' if there is no such patch.
    """
    foreign = [patch for patch in patches if not is_own_pack(patch.row.pack)]
    digests = patch_set(foreign, table, role)
    return digest(digests) if digests else ""


def _data_file(pack: str, name: str) -> bytes:
    """Return the content of a pack's file, from each folder of the pack that has it."""
    contents = [_bytes(f"{folder}/{name}") for folder in _folders(pack)]
    return b"".join(contents)


def own_version() -> str:
    """Return the version of patchkit in this process."""
    # From `sys.modules`, as no module of the package may import the package itself.
    return str(sys.modules["patchkit"].__version__)


def _declared(change: Change) -> str:
    """Return a change as canonical text; the order in its collections does not matter."""
    fields = dict(vars(change))
    for name in ("requires", "rebind", "sets"):
        value = fields.get(name, False)
        if not isinstance(value, bool):
            fields[name] = frozenset(value)
    return f"{change.kind} {canonical(fields)}"


def in_order(patches: PatchSet) -> list[str]:
    """Sort the patches of a set.

    Args:
        patches: The digests of its patches, by their names.

    Returns:
        Their names, in the order in which they apply.
    """
    return sorted(patches, key=lambda name: patches[name].at)


def hash_of(parts: Iterable[bytes]) -> str:
    """Hash a sequence of byte strings.

    Args:
        parts: The byte strings; `b"ab", b"c"` and `b"a", b"bc"` have different hashes.

    Returns:
        16 hexadecimal digits.
    """
    import hashlib  # noqa: PLC0415 - 3 ms of a start, and few processes hash anything

    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:16]


def modules_digest(pack: str) -> str:
    """Hash all modules of a pack, subpackages included.

    Args:
        pack: The name of the pack.

    Returns:
        The hash of their names and bytes.
    """
    parts: list[bytes] = []
    for folder in _folders(pack):
        for name, text in sorted(_modules(folder)):
            parts += [name.encode(), text]
    return hash_of(parts)


def body_bytes(row: Row) -> bytes:
    """Read the file of a row's body.

    Args:
        row: The row.

    Returns:
        The bytes; b"" if it has no body, or the file cannot be read.
    """
    folders = _folders(row.pack)
    spec = PathFinder.find_spec(row.body, folders)
    if spec is None or spec.origin is None:
        return b""
    try:
        return bytes(spec.loader.get_data(spec.origin))  # type: ignore[union-attr]
    except (OSError, AttributeError):
        return b""


def _folders(pack: str) -> list[str]:
    package = sys.modules.get(pack)
    return list(getattr(package, "__path__", ()))


def _modules(folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each module in a folder; of a zip archive, the whole archive."""
    archive = _archive(folder)
    if archive:
        yield archive, _bytes(archive)
    # ".so" stands for suffixes such as ".cpython-311-x86_64-linux-gnu.so".
    endings = tuple({_last_suffix(suffix) for suffix in all_suffixes()})
    for path in _files(folder):
        _, _, filename = path.rpartition("/")
        stem, _, _ = filename.partition(".")
        if filename.endswith(endings) and stem.isidentifier():
            yield path[len(folder) :], _bytes(path)


def _last_suffix(suffix: str) -> str:
    _, _, ending = suffix.rpartition(".")
    return f".{ending}"


def _files(folder: str, parents: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the files in a folder, and in folders below it that can be packages.

    Args:
        folder: The folder.
        parents: The real paths of the folders above it, so that a link to one is not followed.
    """
    real = os.path.realpath(folder)
    if real in parents:
        return
    if not os.path.isdir(folder):  # noqa: PTH112 - pathlib costs a start
        return
    names = os.listdir(folder)  # noqa: PTH208 - as above
    for name in sorted(names):
        path = f"{folder}/{name}"
        if not os.path.isdir(path):  # noqa: PTH112
            yield path
        elif name.isidentifier() and name != "__pycache__":
            yield from _files(path, (*parents, real))


def _archive(folder: str) -> str:
    """Return the zip archive that a path leads into, `a.zip` of `a.zip/pack`; "" for a folder."""
    while folder and not os.path.exists(folder):  # noqa: PTH110 - pathlib costs a start
        folder = os.path.dirname(folder)  # noqa: PTH120
    if os.path.isfile(folder):  # noqa: PTH113
        return folder
    return ""


def _bytes(path: str) -> bytes:
    """Return the content of a file; b"" if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def _is_selected(patch: PatchState, table: EligibilityTable) -> bool:
    """Tell whether a patch is for processes of its roles; a decided one is not checked again."""
    reason_to_skip = table.selection.reason_to_skip
    return eligibility(patch, reason_to_skip=reason_to_skip).answer == YES


def _awaits_when(patch: PatchState) -> bool:
    """Tell whether a patch has a `when` that was not called yet, and may still skip the patch.

    The patch's first change group calls it.
    """
    return patch.row.patch.when is not None and not any(
        group.applied_to for group in patch.groups
    )
