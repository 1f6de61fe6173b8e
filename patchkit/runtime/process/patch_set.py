"""Stops an engine whose processes have different patches.

The main process writes the patches that it selects for each role into the engine's configuration.
vLLM hashes that part of the configuration for its compile cache, and passes it to every engine core
and worker. Each of them compares it with its own patches before it does anything else.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import PathFinder, all_suffixes
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.canonical import canonical
from patchkit.core.rows.declaration import Change, Role, Row
from patchkit.errors import AgreementError
from patchkit.runtime.process.eligibility import EligibilityTable, awaits_when
from patchkit.runtime.process.patch_state import PatchState, PatchStates

PatchSet = Mapping[str, "PatchDigest"]

KEY = "patchkit"
"""The key in `VllmConfig.additional_config` for the patch sets and patchkit's version."""

_VERSION = "version"

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
        if role in state.row.roles and table.is_selected(state)
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
            is_open=awaits_when(state),
        )
    return digests


def stamp(config: Any, states: PatchStates, table: EligibilityTable) -> None:
    """Write into an engine's configuration which patches are for each role.

    Args:
        config: The engine's `VllmConfig`.
        states: The patches of this process, with their journal.
        table: Decides which of them apply here.
    """
    extra = getattr(config, "additional_config", None)
    if extra is None and hasattr(config, "additional_config"):
        extra = config.additional_config = {}
    if not isinstance(extra, dict):
        states.say("warning", "the engine's additional_config is no dict: not stamped")
        return
    patches = states.patches.values()
    sets = {role: patch_set(patches, table, role) for role in Role}
    stamped: dict[str, Any] = {_VERSION: _version()}
    for role, digests in sets.items():
        stamped[str(role)] = {name: dict(vars(each)) for name, each in digests.items()}
    extra[KEY] = stamped
    of_main = digest(sets[Role.MAIN])
    states.journal.write("digest", role=str(Role.MAIN), digest=of_main)


def agree(
    role: Role, config: Any, states: PatchStates, table: EligibilityTable
) -> None:
    """Compare the patches for a role with those that the main process selects.

    Args:
        role: The role that this process enters.
        config: The engine's `VllmConfig`, which the main process has stamped.
        states: The patches of this process, with their journal.
        table: Decides which of them apply here.

    Raises:
        AgreementError: The patches differ; with `PATCHKIT_ON_FAILURE=warn` that is a warning.
    """
    ours = patch_set(states.patches.values(), table, role)
    states.journal.write("digest", role=str(role), digest=digest(ours))
    try:
        theirs = _read_stamp(config, role)
        _refuse_differences(role, theirs, ours, states)
    except AgreementError as error:
        reason = str(error)
        states.journal.write("disagreement", role=str(role), reason=reason)
        if states.settings.on_failure == "stop":
            raise
        states.say("warning", reason)


def _refuse_differences(
    role: Role, theirs: PatchSet | None, ours: PatchSet, states: PatchStates
) -> None:
    """Raise AgreementError if the main process has other patches for a role than this one."""
    if theirs is None:
        return  # the main process has no patchkit, and stamps nothing
    differences = list(_differences(theirs, ours))
    if differences:
        told = "; ".join(differences)
        raise AgreementError(
            f"the {role} process {_process_name()} has other patches "
            f"than the engine: {told}. The main process selects "
            f"{_listed(theirs)} for {role}; here it is {_listed(ours)}. Install the same packs and "
            "versions on every node, and set the same PATCHKIT_* variables."
            f"{_last_change(theirs, ours, states)}"
        )


def _last_change(theirs: PatchSet, ours: PatchSet, states: PatchStates) -> str:
    """Say which file here was changed last, of the packs whose code differs; "" if none does."""
    from patchkit.runtime.process.last_change import last_change  # noqa: PLC0415 - for an error

    names = {*_unlike("code", theirs, ours), *_unlike("pack", theirs, ours)}
    return last_change({states.patches[name].row.pack for name in names})


def _process_name() -> str:
    pid = os.getpid()
    node = os.uname().nodename
    return f"{pid} on node {node}"


def digest(patches: PatchSet) -> str:
    """Hash a patch set.

    Args:
        patches: The digests of its patches, by their names.

    Returns:
        The hash; two are equal if the patches, their order and patchkit's version are.
    """
    lines = [_version()]
    for name in _in_order(patches):
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


def _data_file(pack: str, name: str) -> bytes:
    """Return the content of a pack's file, from each folder of the pack that has it."""
    contents = [_bytes(f"{folder}/{name}") for folder in _folders(pack)]
    return b"".join(contents)


def _version() -> str:
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


def _in_order(patches: PatchSet) -> list[str]:
    return sorted(patches, key=lambda name: patches[name].at)


def _read_stamp(config: Any, role: Role) -> PatchSet | None:
    """Return the patch set that `stamp` wrote for a role; None if there is none.

    Raises:
        AgreementError: Another version of patchkit wrote it.
    """
    extra = getattr(config, "additional_config", None)
    if not isinstance(extra, dict):
        return None
    sets = extra.get(KEY)
    if not isinstance(sets, dict):
        return None
    version = sets.get(_VERSION)
    own_version = _version()
    if version != own_version:
        theirs = version or "an earlier one"
        raise AgreementError(
            f"the {role} process {_process_name()} runs patchkit "
            f"{own_version}, and the main process {theirs}. Install the same "
            "patchkit on every node."
        )
    patches = sets.get(str(role), {})
    return {name: PatchDigest(**fields) for name, fields in patches.items()}


def _differences(theirs: PatchSet, ours: PatchSet) -> Iterator[str]:
    """Yield how two patch sets differ: in their patches, the code of these, and their order."""
    for name in _only_in(theirs, ours):
        yield f"{name} only in the main process"
    for name in _only_in(ours, theirs):
        yield f"{name} only here"
    common = [name for name in _in_order(theirs) if name in ours]
    other_code = _unlike("code", theirs, ours)
    for name in other_code:
        yield f"{name} has other code here"
    if not other_code:  # else that explains why the packs differ
        for name in _unlike("pack", theirs, ours):
            yield f"{name} has another module in its pack here"
    common_here = [name for name in _in_order(ours) if name in theirs]
    if common != common_here:
        order_here = ", ".join(common_here)
        order_there = ", ".join(common)
        yield f"they apply in the order {order_here} here, not {order_there}"


def _unlike(field: str, theirs: PatchSet, ours: PatchSet) -> list[str]:
    """Name the patches of both sets that differ in a field."""
    return [
        name
        for name in _in_order(theirs)
        if name in ours and getattr(theirs[name], field) != getattr(ours[name], field)
    ]


def _only_in(patches: PatchSet, others: PatchSet) -> list[str]:
    """Name the patches that another set lacks, except those that their `when` may yet skip."""
    missing = [name for name in _in_order(patches) if name not in others]
    return [name for name in missing if not patches[name].is_open]


def _listed(patches: PatchSet) -> str:
    return ", ".join(_in_order(patches)) or "nothing"


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
