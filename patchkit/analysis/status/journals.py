"""Reads the journals of processes.

A line may be torn, or written by a later patchkit or another program. So a value is read only if it
has the expected type, and everything else is ignored.
"""

from pathlib import Path

from patchkit.analysis.status.entries import (
    BodyFile,
    CallResult,
    FirstCall,
    JournalEntry,
    TargetProbe,
    parse_line,
)
from patchkit.analysis.status.node import read, writer
from patchkit.analysis.status.process_status import (
    FORMAT,
    ChangedModule,
    ChildStart,
    ForeignValue,
    PatchStatus,
    ProcessStatus,
)


def read_directory(directory: str | Path) -> list[ProcessStatus]:
    """Read every journal in a directory.

    Args:
        directory: The folder of the journals; those that cannot be read are ignored.

    Returns:
        The processes, the oldest first.
    """
    journals, _ = read(str(directory))
    processes = (parse_journal(name, data) for name, data in journals.items())
    return sorted(filter(None, processes), key=lambda process: process.started)


def parse_journal(name: str, data: bytes) -> ProcessStatus | None:
    """Read the state of a process from its journal.

    Args:
        name: The name of the file, which identifies the process if its first line is damaged.
        data: The content of the file.

    Returns:
        The process; None if neither the content nor the name identifies one.
    """
    process = None
    has_start = False
    if data:
        process = _process_of_file(name)
    for line in data.split(b"\n"):
        entry = parse_line(line)
        if entry is None:
            continue
        # This event is in the first line. If that is damaged, the process of the file's name stays.
        if entry.text("event") == "armed":
            head = _process_of_head(entry)
            has_start = has_start or head is not None
            process = head or process
        elif process is not None:
            _read_entry(process, entry)
    if process is not None:
        process.lacks_start = not has_start
    return process


def _process_of_head(entry: JournalEntry) -> ProcessStatus | None:
    """Read a process from the first line of its journal; None if host or pid is missing."""
    host = entry.text("host")
    pid = entry.integer("pid")
    if not host or not pid:
        return None
    is_forked = entry.is_true("forked")
    asked_by = None
    # The journal has `asked_by` from an environment variable. A fork inherits the variable, but is
    # started by its parent, the process `ppid`.
    if not is_forked:
        asked_by = entry.text("asked_by") or None
    roles = entry.mapping("roles")
    names = entry.texts("patches")
    packs = entry.text_by_name("packs")
    return ProcessStatus(
        host=host,
        pid=pid,
        ppid=entry.integer("ppid") or 0,
        argv=list(entry.texts("argv")),
        started=entry.time,
        began=entry.integer("began"),
        space=entry.text("space"),
        format=entry.integer("format") or FORMAT,
        asked_by=asked_by,
        is_copy=is_forked,
        patches={
            name: PatchStatus(name, pack=packs.get(name, ""), roles=roles.texts(name))
            for name in names
        },
    )


def _process_of_file(name: str) -> ProcessStatus | None:
    """Read a process from the name of its journal, `HOST-PID-NANOSECONDS.jsonl`, or None."""
    host, pid = writer(name)
    start = name.removesuffix(".jsonl").rpartition("-")[2]
    is_time = start.isdecimal() and 10 < len(start) < 20  # today's have 19 digits
    if not host or not pid or not is_time:
        return None
    return ProcessStatus(host, pid, started=int(start) / 1e9)


def _read_entry(process: ProcessStatus, entry: JournalEntry) -> None:
    """Update a process by one entry of its journal."""
    event = entry.text("event")
    match event:
        case "role":
            # A fork that enters a role is no mere copy of its parent any more.
            process.is_copy = process.is_copy and entry.is_true("inherited")
            role = entry.text("role")
            if role not in process.roles:
                process.roles.append(role)
        case "become":
            # A fork gets roles of its own: it drops its parent's, and entries of its own follow.
            process.roles = []
            process.is_copy = False
        case "patch":
            _read_status(process, entry)
        case "child":
            _read_child(process, entry)
        case "in-effect" | "imported" | "unpatched":
            _read_look(process, event, entry)
        case "probed" | "first-call" | "traced":
            _read_probe(process, event, entry)
        case (
            "left-out"
            | "verify"
            | "wrapped"
            | "overwritten"
            | "unreviewed"
            | "kept"
            | "sets"
        ):
            patch = process.patches.get(entry.text("name"))
            if patch is not None:
                _read_patch_fact(patch, event, entry)
        case _:
            _read_process_fact(process, event, entry)


def _read_child(process: ProcessStatus, entry: JournalEntry) -> None:
    """Read that a process has started a child."""
    pid = entry.integer("child")
    if pid is None:
        return
    role = entry.text("role") or None
    process.children.append(ChildStart(pid, entry.text("name"), role, entry.time))


def _read_process_fact(process: ProcessStatus, event: str, entry: JournalEntry) -> None:
    """Read an entry about the process itself; unknown events are ignored."""
    match event:
        case "rank":
            process.rank = entry.integer("rank")
        case "digest":
            process.digests[entry.text("role")] = entry.text("digest")
        case "disagreement":
            process.disagreements[entry.text("role")] = entry.text("reason")
        case "verified":
            process.verified = entry.time or None
        case "unmet":
            process.unmet = entry.text_by_name("reasons")
        case "unknown":
            engine = entry.text("engine") or "an engine"
            process.unknown = f"{entry.text('target')} has {engine} loaded"
        case "left-without":
            process.left_without[entry.text("name")] = entry.text("reason")
        case "full":
            process.is_cut = True


def _read_probe(process: ProcessStatus, event: str, entry: JournalEntry) -> None:
    """Read what `patchkit probe` has seen of a target: its import, first call or tracing."""
    probe = process.probed.setdefault(entry.text("target"), TargetProbe())
    match event:
        case "probed":  # written when the module of the target is imported
            probe.is_imported = True
            probe.reason = entry.text("reason")
        case "first-call":
            line = entry.integer("line")
            if line is not None and probe.first is None:
                probe.first = FirstCall(entry.text("file"), line, entry.text("at"))
        case "traced":
            probe.is_traced = True


def _read_status(process: ProcessStatus, entry: JournalEntry) -> None:
    """Read the new status of a patch; for an applied one, also what it has changed."""
    name = entry.text("name")
    patch = process.patches.get(name)
    if patch is None:
        patch = PatchStatus(name)
        process.patches[name] = patch
    patch.status = entry.text("status")
    patch.reason = entry.text("reason")
    patch.time = entry.time
    patch.inherited = entry.is_true("inherited")
    patch.kept = ()  # a `kept` entry follows if something still holds the patch's code
    patch.trace = entry.texts("trace")
    patch.tolerated = entry.is_true("tolerated")
    # A fork in which a patch changes its status is no mere copy of its parent any more.
    process.is_copy = process.is_copy and patch.inherited
    if patch.status == "applied":
        _read_changes(process, patch, entry)
    else:
        _forget_changes(process, patch)


def _read_changes(
    process: ProcessStatus, patch: PatchStatus, entry: JournalEntry
) -> None:
    """Read what an applied patch has changed in a module, and the file of its body."""
    body = entry.texts("body")
    if len(body) == 2:  # its file and checksum
        patch.body = BodyFile(*body)
    layers = entry.texts_by_name("layers")
    for target, order in layers.items():
        process.layers[target] = _joint_order(process, target, order)
    module = entry.text("module")
    if module:
        patch.modules[module] = ChangedModule(
            rebound=entry.texts("rebound"),
            out_of_reach=entry.texts("out_of_reach"),
            untraced=entry.text_by_name("untraced"),
            targets=tuple(layers),
            hidden=_hidden(patch.name, entry.mapping("hidden")),
        )


def _hidden(name: str, entry: JournalEntry) -> dict[str, str]:
    """Return by target the patch whose replacement hides that of the named patch.

    Args:
        name: The name of the hidden patch.
        entry: By target, for each hidden patch the one that hides it.
    """
    upper = {target: entry.mapping(target).text(name) for target in entry}
    return {target: patch for target, patch in upper.items() if patch}


def _joint_order(
    process: ProcessStatus, target: str, order: tuple[str, ...]
) -> list[str]:
    """Return the patches on a target, the innermost first, after a patch has reported `order`.

    Patches that have reported the target before stay on it, even if `order` lacks them. If it does,
    all are in the order of their rows.
    """
    earlier = set(process.layers.get(target, ())).difference(order)
    if not earlier:
        return list(order)
    names = earlier.union(order)
    return [name for name in process.patches if name in names]


def _forget_changes(process: ProcessStatus, patch: PatchStatus) -> None:
    """Remove what a patch has changed, as it is not applied any more."""
    patch.modules = {}
    patch.strangers = []
    patch.called = {}
    patch.effects = {}
    for target, order in process.layers.items():
        process.layers[target] = [name for name in order if name != patch.name]


def _read_effects(process: ProcessStatus, entry: JournalEntry) -> None:
    """Read which targets of applied patches were called."""
    process.glanced = entry.time or None
    patches = entry.mapping("patches")
    silent = entry.texts_by_name("silent")
    for name in patches.keys() & process.patches.keys():
        patch = process.patches[name]
        patch.effects.update(patches.text_by_name(name))
        patch.silent += silent.get(name, ())


def _read_look(process: ProcessStatus, event: str, entry: JournalEntry) -> None:
    """Read what a look has found: calls, imports of targets, or calls without their patch."""
    if event == "in-effect":
        _read_effects(process, entry)
        return
    process.looked = entry.time or None
    process.imported += entry.texts("modules")
    for name, texts in entry.texts_by_name("patches").items():
        patch = process.patches.get(name)
        if patch is None:
            continue
        if event == "imported":
            patch.imported += texts
        else:
            patch.unpatched += texts


def _read_patch_fact(patch: PatchStatus, event: str, entry: JournalEntry) -> None:
    """Read an entry about one patch, other than its status."""
    target = entry.text("target")
    match event:
        case "verify":
            patch.answer = entry.text("answer")
            patch.answered = entry.time
        case "left-out":
            patch.left_out[target] = entry.text("reason")
        case "wrapped" | "overwritten":
            patch.strangers.append(
                ForeignValue(
                    target,
                    entry.text("by"),
                    wraps=event == "wrapped",
                    unsure=entry.is_true("unsure"),
                )
            )
        case "sets":
            result = CallResult(entry.texts("left"), entry.texts("unnamed"))
            patch.called[entry.text("call")] = result
        case "kept":
            patch.kept = entry.texts("holders")
        case "unreviewed":
            patch.unreviewed = entry.text("reason")
            patch.is_finding = entry.is_true("finding")
