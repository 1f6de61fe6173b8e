"""`patchkit show`: one patch in full, and its targets as they are installed here."""

import dataclasses
from collections.abc import Iterable

import click

from patchkit.analysis.check.loading import load_faults
from patchkit.analysis.check.requiring import unrequired
from patchkit.analysis.upstream.facts import Facts
from patchkit.cli import options
from patchkit.cli.module_source import file_of, find_module
from patchkit.cli.report.as_json import show_json
from patchkit.cli.report.here import ChangeHere, ReviewHere, RowHere, TargetHere
from patchkit.core.lock.files import Locks
from patchkit.core.lock.format import Lock
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.rows.selection import Selection
from patchkit.core.rows.target import Target
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import parse_requirement
from patchkit.errors import UpstreamError
from patchkit.runtime.drift import InstalledSource, RowDrift


@click.command("show")
@click.argument("name", shell_complete=options.complete_names)
@click.option(
    "--vllm", metavar="V", help="Use this version of vLLM, as VLLM_VERSION=V does."
)
@click.option(
    "--lock", metavar="FILE", help="The lock; default: the project's or the packs'."
)
@options.patches_option
@options.format_option
def command(
    name: str, vllm: str | None, lock: str | None, packs: tuple[str, ...], form: str
) -> None:
    """Show one patch in full, and whether it applies here.

    \b
    Examples:
      patchkit show ray-worker-torch-npu
      patchkit show ray-worker-torch-npu --vllm 0.11.0
      patchkit show my-patch --patches mine.patches --format json
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows, selection = options.rows_and_selection(packs, vllm)
    row = options.choose(rows, [name])[0]
    row_here = _row_here(row, selection, options.locks_of(lock))
    if form == "json":
        click.echo(show_json(row_here))
        return
    from patchkit.cli.report.rows import print_show  # noqa: PLC0415 - JSON needs no rich

    print_show(row_here)


def _row_here(row: Row, selection: Selection, locks: Locks) -> RowHere:
    """Gather what there is to show of a row, without importing anything upstream.

    Args:
        row: The row.
        selection: Tells whether it applies here.
        locks: The locks.
    """
    versions = selection.versions
    requirements = []
    for text in row.patch.requires:
        version = versions.find(parse_requirement(text).name)
        requirements.append((text, version, options.reason(versions.unmet, text)))
    installed = InstalledSource()
    lock = locks.of(row)
    changes = []
    for change in row.patch.changes:
        reason = _first_unmet(change.requires, versions)
        # The parts of a change are itself and, of an AfterImport, the targets that it `sets`.
        change_here, *sets = [
            ChangeHere(
                part,
                _own_fields(part),
                reason,
                state_of(part.place, installed),
                _review(row, part, lock, installed),
            )
            for part in change.parts
        ]
        changes.append(change_here._replace(sets=sets))
    reason = options.reason(selection.reason_to_skip, row)
    faults = [str(fault) for fault in load_faults([row]).values()]
    faults += map(str, unrequired(row))
    return RowHere(row, reason, requirements, changes, locks.file(row), faults)


def _first_unmet(requirements: Iterable[str], versions: Versions) -> str | None:
    """Return why a requirement is not met, for the first that is not; None if all are met."""
    for text in requirements:
        reason = options.reason(versions.unmet, text)
        if reason:
            return reason
    return None


def _own_fields(change: Change) -> dict[str, str | int | float | bool | None]:
    """Return the fields that only this kind of change has, such as `old` and `new` of an Edit.

    Values that JSON does not have are written as in Python.
    """
    common = {"requires", "rebind", "when", "sets"}
    common |= {change.target_field, change.body_field}
    names = [
        field.name for field in dataclasses.fields(change) if field.name not in common
    ]
    return {name: _as_json(getattr(change, name)) for name in names}


def _as_json(value: object) -> str | int | float | bool | None:
    """Return a value as JSON can have it: a type by its name, another object by its repr."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, type):
        return value.__qualname__
    return repr(value)


def _review(
    row: Row, change: Change, lock: Lock | None, installed: InstalledSource
) -> ReviewHere | None:
    """Compare the target of a change with its review; None for a change that has no review.

    Args:
        row: The row of the change.
        change: The change.
        lock: The lock of the row; None where it has none.
        installed: The installed sources.
    """
    if not change.is_reviewed:
        return None
    if lock is None:
        return ReviewHere("no-lock", "no lock file covers this patch")
    verdict = RowDrift(row.name, lock, installed).verdict(change.place)  # state, detail
    return ReviewHere(*verdict, lock.spans(row.name, str(change.place)))


def state_of(target: Target, installed: InstalledSource) -> TargetHere:
    """Find a target in the installed packages, by reading sources.

    Args:
        target: The target.
        installed: The installed sources.

    Returns:
        Whether the target exists, what it is, and where it is defined.
    """
    spec = find_module(target.module)
    if spec is None:
        return TargetHere(
            "no-module",
            file=None,
            line=None,
            detail=f"module {target.module} is not found here",
        )
    file = file_of(spec)
    if not target.qualname:
        return TargetHere(
            "present", file, line=None, detail="module", defined=target.module
        )
    if file is None or not file.endswith(".py"):
        return _undecided(f"{target.module} has no source that can be read", file)
    top = target.module.partition(".")[0]
    if file_of(find_module(top)) is None:
        return _undecided(
            f"{top} is a namespace package, which is not looked into", file
        )
    try:
        facts = installed.facts(target)
    except UpstreamError as error:
        return _undecided(str(error), file)
    if facts.is_present:
        return _present(target, facts, file)
    if facts.state == "absent":
        return TargetHere("absent", file, line=None, detail=facts.reason)
    return _undecided(facts.reason, file)


def _present(target: Target, facts: Facts, file: str) -> TargetHere:
    """Describe a target that exists.

    Args:
        target: The target.
        facts: The facts of the target; it may be defined in another module.
        file: The file of the target's module.
    """
    module = facts.module or target.module
    if module != target.module:
        file = file_of(find_module(module)) or file
    line = facts.lines[0] if facts.lines else None
    definition = module
    if facts.qualname:
        definition += f":{facts.qualname}"
    return TargetHere("present", file, line, _detail(target, facts), definition)


def _detail(target: Target, facts: Facts) -> str:
    """Return what a target is, and where it is defined if it is an alias or inherited."""
    detail = facts.kind or "present"
    if facts.owner:
        detail += f", inherited from {facts.owner}"
    elif facts.qualname:
        detail += f", defined in {facts.module}"
        if facts.qualname != target.qualname:
            detail += f" as {facts.qualname}"
    if facts.reason:
        detail += f"; {facts.reason}"
    return detail


def _undecided(why: str, file: str | None) -> TargetHere:
    return TargetHere(
        "undecided", file, line=None, detail=f"not decidable statically: {why}"
    )
