"""The same patches in every process of an engine, or none starts.

The main process writes what it selects for each role into the engine's configuration. vLLM hashes
that part of the configuration for its compile cache, and hands it to every engine core and worker;
each compares it with its own before it does anything else.
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
"""Where in `VllmConfig.additional_config` the patch sets are, beside patchkit's version."""

_VERSION = "version"

_NO_CODE = {"changes", "requires", "roles", "why", "upstream", "sunset"}
"""Fields of a row that count as changes, as a choice of rows, or not at all."""


class PatchDigest(Record):
    """What two processes compare of one patch."""

    at: int  # its place among those of the role; they apply in this order
    code: str  # hash of the row, its body and its data files
    pack: str  # hash of every module of its pack, which bodies may import
    is_open: bool = False  # nobody has asked the row's `when` in this process


def patch_set(
    states: Iterable[PatchState], table: EligibilityTable, role: Role
) -> dict[str, PatchDigest]:
    """Name the patches that are for a role here, each with what it is."""
    mine = [state for state in states if role in state.row.roles]
    chosen = [state for state in mine if table.is_selected(state)]
    packs = {name: modules_digest(name) for name in {state.row.pack for state in chosen}}
    digests: dict[str, PatchDigest] = {}
    for at, state in enumerate(chosen):
        code = fingerprint(state.row)
        digests[state.name] = PatchDigest(at, code, packs[state.row.pack], awaits_when(state))
    return digests


def stamp(config: Any, states: PatchStates, table: EligibilityTable) -> None:
    """Write into an engine's configuration which patches are for each role."""
    extra = getattr(config, "additional_config", None)
    if extra is None and hasattr(config, "additional_config"):
        extra = config.additional_config = {}
    if not isinstance(extra, dict):
        states.say("warning", "the engine's additional_config is no dict: not stamped")
        return
    sets = {role: patch_set(states.patches.values(), table, role) for role in Role}
    extra[KEY] = {_VERSION: _version()} | {
        str(role): {name: dict(vars(mark)) for name, mark in patches.items()}
        for role, patches in sets.items()
    }
    states.journal.write("digest", role=str(Role.MAIN), digest=digest(sets[Role.MAIN]))


def agree(role: Role, config: Any, states: PatchStates, table: EligibilityTable) -> None:
    """Warn of other patches for a role than the main process selects, or raise AgreementError."""
    ours = patch_set(states.patches.values(), table, role)
    states.journal.write("digest", role=str(role), digest=digest(ours))
    try:
        theirs = _stamped(config, role)
        # None where the main process knows no patchkit, and says nothing.
        if theirs is not None and (differences := list(_differences(theirs, ours))):
            raise AgreementError(
                f"the {role} process {os.getpid()} on node {os.uname().nodename} has other patches "
                f"than the engine: {'; '.join(differences)}. The main process selects "
                f"{_show(theirs)} for {role}; here it is {_show(ours)}. Install the same packs and "
                "versions on every node, and set the same PATCHKIT_* variables."
            )
    except AgreementError as error:
        states.journal.write("disagreement", role=str(role), reason=str(error))
        if states.settings.on_failure == "stop":
            raise
        states.say("warning", str(error))


def digest(patches: PatchSet) -> str:
    """Hash a patch set: equal digests mean equal patch sets, in one order, by one patchkit."""
    lines = [f"{name} {patches[name].code} {patches[name].pack}" for name in _in_order(patches)]
    return hash_of(line.encode() for line in (_version(), *lines))


def fingerprint(row: Row) -> str:
    """Hash what a row does: what it declares, its body, and its data files."""
    fields = {name: value for name, value in vars(row.patch).items() if name not in _NO_CODE}
    declared = "\n".join([canonical(fields), *map(_words, row.patch.changes)])
    folders = _folders(row.pack)
    data = [b"".join(_bytes(f"{at}/{name}") for at in folders) for name in row.patch.data]
    return hash_of((declared.encode(), body_bytes(row), *data))


def _version() -> str:
    return str(sys.modules["patchkit"].__version__)  # the package is a layer above


def _words(change: Change) -> str:
    fields = dict(vars(change))
    for name in ("requires", "rebind"):  # collections whose order says nothing
        if not isinstance(fields[name], bool):
            fields[name] = frozenset(fields[name])
    return f"{change.kind} {canonical(fields)}"


def _in_order(patches: PatchSet) -> list[str]:
    return sorted(patches, key=lambda name: patches[name].at)


def _stamped(config: Any, role: Role) -> PatchSet | None:
    """Read the patch set for a role back; None where no patchkit wrote one."""
    extra = getattr(config, "additional_config", None)
    sets = extra.get(KEY) if isinstance(extra, dict) else None
    if not isinstance(sets, dict):
        return None
    if (theirs := sets.get(_VERSION)) != _version():
        raise AgreementError(
            f"the {role} process {os.getpid()} on node {os.uname().nodename} runs patchkit "
            f"{_version()}, and the main process {theirs or 'an earlier one'}. Install the same "
            "patchkit on every node."
        )
    return {name: PatchDigest(**mark) for name, mark in sets.get(str(role), {}).items()}


def _differences(theirs: PatchSet, ours: PatchSet) -> Iterator[str]:
    yield from (f"{name} only in the main process" for name in _more(theirs, ours))
    yield from (f"{name} only here" for name in _more(ours, theirs))
    both = [name for name in _in_order(theirs) if name in ours]
    code = [name for name in both if theirs[name].code != ours[name].code]
    yield from (f"{name} has other code here" for name in code)
    pack = [name for name in both if theirs[name].pack != ours[name].pack]
    if not code:
        yield from (f"{name} has another module in its pack here" for name in pack)
    here = [name for name in _in_order(ours) if name in theirs]
    if both != here:
        yield f"they apply in the order {', '.join(here)} here, not {', '.join(both)}"


def _more(patches: PatchSet, other: PatchSet) -> list[str]:
    names = [name for name in _in_order(patches) if name not in other]
    return [name for name in names if not patches[name].is_open]


def _show(patches: PatchSet) -> str:
    return ", ".join(_in_order(patches)) or "nothing"


def hash_of(parts: Iterable[bytes]) -> str:
    """Hash parts, whichever they are and in this order."""
    import hashlib  # noqa: PLC0415 - 3 ms of a start, and few processes hash anything

    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:16]


def modules_digest(pack: str) -> str:
    """Hash the names and the bytes of every module in a pack's package, beneath it too."""
    modules = (one for folder in _folders(pack) for one in sorted(_modules(folder)))
    return hash_of(part for name, text in modules for part in (name.encode(), text))


def body_bytes(row: Row) -> bytes:
    """Read a row's body, wherever it lies; nothing where there is none."""
    spec = PathFinder.find_spec(row.body, _folders(row.pack))
    if spec is None or spec.origin is None:
        return b""
    try:
        return bytes(spec.loader.get_data(spec.origin))  # type: ignore[union-attr]
    except (OSError, AttributeError):
        return b""


def _folders(pack: str) -> list[str]:
    return list(getattr(sys.modules.get(pack), "__path__", ()))


def _modules(folder: str) -> Iterator[tuple[str, bytes]]:
    if archive := _archive(folder):
        yield archive, _bytes(archive)  # all of it, data files too
    endings = tuple({f".{suffix.rpartition('.')[2]}" for suffix in all_suffixes()})
    for path in _files(folder):
        name = path.rpartition("/")[2]
        if name.endswith(endings) and name.partition(".")[0].isidentifier():
            yield path[len(folder) :], _bytes(path)


def _files(folder: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Walk a folder and all beneath it that can be imported, links too, unless they lead back."""
    real = os.path.realpath(folder)
    if real in above or not os.path.isdir(folder):  # noqa: PTH112 - pathlib costs a start
        return
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - as above
        path = f"{folder}/{name}"
        if not os.path.isdir(path):  # noqa: PTH112
            yield path
        elif name.isidentifier() and name != "__pycache__":
            yield from _files(path, (*above, real))


def _archive(folder: str) -> str:
    while folder and not os.path.exists(folder):  # noqa: PTH110 - pathlib costs a start
        folder = os.path.dirname(folder)  # noqa: PTH120
    return folder if os.path.isfile(folder) else ""  # noqa: PTH113


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
