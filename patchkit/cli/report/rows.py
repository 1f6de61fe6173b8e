"""Prints the results of `patchkit list`, `show` and `new`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text

from patchkit.cli.report.console import (
    columns,
    console,
    folded,
    print_diff_lines,
    whole,
)
from patchkit.cli.report.here import ChangeHere, NextStep, RowHere
from patchkit.core.lock.format import Span
from patchkit.core.rows.declaration import Role, Row
from patchkit.core.versions.requirements import FoundVersion
from patchkit.errors import shown
from patchkit.registry import is_own_pack

if TYPE_CHECKING:
    from patchkit.authoring.scaffold.plan import Plan

_ROOM_FOR_WHY = 120
"""The width from which a list has a column for `why`."""
_STYLES = {"present": "ok", "undecided": "note", "absent": "bad", "no-module": "warn"}
_USUAL = (("count", 1), ("unrelated", False))
"""Fields with their default values, which are not shown."""
_TEXTS = (
    "why",
    "upstream",
    "sunset",
    "body",
    "after",
    "conflicts",
    "env",
    "when",
    "verify",
    "data",
)
_MANY = 5
"""The most spans of releases that are all shown."""
_PLANNED = {"created": "would create", "edited": "would edit"}


def print_list(
    versions: Mapping[str, FoundVersion | None],
    rows: Sequence[tuple[Row, str | None]],
    *,
    everything: bool,
) -> None:
    """Print the installed versions, and the patches.

    Args:
        versions: The version of each project; None where it is not installed.
        rows: Each row, and the reason why it does not apply here; None where it does.
        everything: Whether to list also rows that do not apply, with the reason.
    """
    out = console()
    if versions:
        out.print(_versions(versions))
    listed = [(row, reason) for row, reason in rows if everything or reason is None]
    listed.sort(key=lambda item: is_own_pack(item[0].pack))  # the user's rows first
    if listed:
        with_why = out.width >= _ROOM_FOR_WHY
        table = _patches(listed, everything=everything, with_why=with_why)
        out.print("", table)


def _versions(versions: Mapping[str, FoundVersion | None]) -> Table:
    """Return a table of versions, with their sources."""
    table = columns()
    for name, version in versions.items():
        if version:
            table.add_row(name, version.version, Text(version.source, style="note"))
        else:
            table.add_row(name, Text("not installed", style="note"))
    return table


def _patches(
    rows: Sequence[tuple[Row, str | None]], *, everything: bool, with_why: bool
) -> Table:
    """Return a table with a row for each patch, pack by pack.

    Args:
        rows: Each row, and the reason why it does not apply here; None where it does.
        everything: Whether to show the reasons, and not the requirements.
        with_why: Whether there is room for `why`.
    """
    heads = [whole("patch"), Column("roles")]
    if everything:
        heads.append(folded("here"))
    else:
        heads.append(folded("requires"))
    if with_why:
        heads.append(Column("why"))
    table = columns(*heads)
    rows_by_pack: dict[str, list[tuple[Row, str | None]]] = {}
    for row, reason in rows:
        rows_of_pack = rows_by_pack.setdefault(row.pack, [])
        rows_of_pack.append((row, reason))
    for pack, rows_of_pack in rows_by_pack.items():
        table.add_row(Text(pack, style="heading"))
        for row, reason in rows_of_pack:
            cells = _list_cells(row, reason, everything=everything)
            if with_why:
                cells.append(
                    Text(row.patch.why, "note", no_wrap=True, overflow="ellipsis")
                )
            table.add_row(*cells)
    return table


def _list_cells(row: Row, reason: str | None, *, everything: bool) -> list[Text | str]:
    """Return the cells of a patch in the list: name, roles, and state or requirements."""
    name = Text(f"  {row.name}", style="name")
    if reason:
        name = Text(f"  {row.name}", style="note")
    roles = _roles(row)
    if len(row.roles) == len(Role):
        roles = "all"
    if everything:
        return [name, roles, _selection(row, reason)]
    requirements = ", ".join(row.patch.requires)
    return [name, roles, Text(requirements)]


def _roles(row: Row) -> str:
    return ", ".join(role for role in Role if role in row.roles)


def _selection(row: Row, reason: str | None) -> Text:
    """Return whether a row applies here, in words; only a process can ask its `when`."""
    if reason is not None:
        return Text(reason, style="note")
    if row.patch.when:
        return Text(
            f"selected, unless {row.patch.when}() of its body refuses", style="ok"
        )
    return Text("selected", style="ok")


def print_show(row_here: RowHere) -> None:
    """Print one row in full.

    Args:
        row_here: The row, and its state in this environment.
    """
    out = console()
    row = row_here.row
    out.print(Text(row.name, style="name"), Text(row.pack, style="note"))
    out.print("", _fields(row_here))
    for number, change_here in enumerate(row_here.changes, start=1):
        kind = (change_here.change.kind, "heading")
        target = (str(change_here.change.place), "name")
        out.print(Text.assemble(f"\n{number}. ", kind, " ", target))
        out.print(_change_fields(change_here))


def _fields(row_here: RowHere) -> Table:
    """Return a table with a line for each field of a row that is set."""
    row = row_here.row
    table = columns(whole(style="note"), folded())
    table.add_row("here", _selected(row_here.reason))
    for fault in row_here.faults:
        table.add_row("", Text(fault, "bad"))
    table.add_row("roles", _roles(row))
    table.add_row("requires", _requirements(row_here))
    fields = {label: getattr(row.patch, label) for label in _TEXTS}
    fields["body"] = None
    if row.patch.body is not None:
        fields["body"] = row.body
    fields["failure"] = "is a warning"
    if row.patch.required:
        fields["failure"] = "stops the process"
    fields["lock"] = "no lock file covers this patch"
    if row_here.lock:
        fields["lock"] = shown(row_here.lock)
    for label, field in fields.items():
        if not field:
            continue
        if isinstance(field, str):
            table.add_row(label, Text(field))
        else:
            table.add_row(label, Text(", ".join(field)))
    return table


def _requirements(row_here: RowHere) -> Text:
    """Return a line for each requirement: whether it holds, and the installed version."""
    width = max(len(requirement) for requirement, _, _ in row_here.requirements)
    lines: list[Text] = []
    for requirement, version, reason in row_here.requirements:
        verdict = ("holds", "ok")
        if reason:
            verdict = ("does not hold", "warn")
        installed = "not installed"
        if version:
            installed = f"{version.version} ({version.source})"
        line = Text.assemble(
            requirement.ljust(width), "  ", verdict, "  ", (installed, "note")
        )
        lines.append(line)
    return Text("\n").join(lines)


def _change_fields(change_here: ChangeHere) -> Table:
    """Return a table with a line for each field of a change, for its target and its review."""
    change = change_here.change
    table = columns(whole(style="note"), folded(), indent=3)
    if change.body_name:
        table.add_row("by", change.body_name)
    for label, value in change_here.fields.items():
        if (label, value) not in _USUAL:
            table.add_row(label, _field(value))
    for requirement in change.requires:
        table.add_row("requires", requirement)
    if change.when:
        table.add_row("when", change.when)
    if change_here.reason:
        table.add_row("here", _selected(change_here.reason))
    if change.rebind is not True:  # False, or names of packages
        packages = ", ".join(change.rebind or ["no"])
        table.add_row("rebind", packages)
    _add_target(table, change_here)
    for part in change_here.sets:
        table.add_row("sets", Text(str(part.change.place), style="name"))
        _add_target(table, part)
    return table


def _add_target(table: Table, change_here: ChangeHere) -> None:
    """Add lines about the target of a change, and about its review."""
    target = change_here.target
    table.add_row("target", Text(target.detail, style=_STYLES[target.state]))
    if target.file:
        table.add_row("", Text(_location(change_here), style="note"))
    for label, text in _review(change_here):
        table.add_row(label, text)


def _field(value: object) -> Text:
    """Return the value of a field, such as the code of an Edit, without its indentation."""
    text = dedent(str(value))
    lines = text.strip("\n")
    if not lines.strip():
        return Text("(nothing)", style="note")
    return Text(lines)


def _review(change_here: ChangeHere) -> Iterator[tuple[str, Text]]:
    """Yield labels and texts about the review of a target.

    There are none if no lock covers the patch, which is shown once for the row.
    """
    review = change_here.review
    if review is None or review.state == "no-lock":
        return
    label = "reviewed"
    if review.spans:
        style = "note"
        if review.state == "reviewed":
            style = "ok"
        releases = "\n".join(_releases(review.spans))
        yield label, Text(releases, style)
        label = ""  # the second line belongs to the same label
    detail = review.detail.removeprefix(f"{change_here.change.place} ")
    if detail:
        style = "warn"
        if change_here.reason:
            style = "note"
        yield label, Text(detail, style)


def _releases(spans: Iterable[Span]) -> Iterator[str]:
    """Yield a line with the reviewed releases of each distribution.

    Of many spans, the first and the last few are shown: `vllm 0.8.0, … 3 more …, 0.11.0 - 0.12.0`.
    """
    for project, group in groupby(spans, lambda span: span.project):
        texts = [_span(span) for span in group]
        if len(texts) > _MANY:
            # `_MANY` parts are shown: the first, one that counts those left out, and the last ones.
            left_out_count = len(texts) - _MANY + 1
            middle = f"… {left_out_count} more …"
            last = texts[1 + left_out_count :]
            texts = [texts[0], middle, *last]
        joined = ", ".join(texts)
        yield f"{project} {joined}"


def _span(span: Span) -> str:
    if span.first == span.last:
        return span.first
    return f"{span.first} - {span.last}"


def _location(change_here: ChangeHere) -> str:
    """Return `file:line` of a target, with the path from the top package on: `vllm/envs.py:7`."""
    target = change_here.target
    path = Path(target.file or "")
    defined = target.defined or str(change_here.change.place)
    module, _, _ = defined.partition(":")
    depth = module.count(".") + 1  # `vllm.envs` is two parts of the path
    if path.stem == "__init__":
        depth += 1
    file = "/".join(path.parts[-depth:])
    if target.line:
        return f"{file}:{target.line}"
    return file


def _selected(reason: str | None) -> Text:
    if reason:
        return Text(f"not selected: {reason}", "warn")
    return Text("selected", "ok")


def print_new(plan: "Plan", *, written: bool) -> None:
    """Print the files of a new patch, with their contents if they were not written.

    Args:
        plan: The files.
        written: Whether the files were written, rather than planned.
    """
    out = console()
    out.print(
        Text(plan.patch.name, style="name"), Text(plan.place.module, style="note")
    )
    table = columns()
    for file in plan.files:
        action = file.action
        if not written:
            action = _PLANNED[file.action]
        table.add_row(
            Text(action, "ok"), Text(shown(file.path)), Text(file.what, "note")
        )
    out.print("", table)
    if not written:
        for file in plan.files:
            out.print(Text(f"\n{shown(file.path)}", style="heading"))
            if file.diff:
                print_diff_lines(file.diff, out)
            else:
                out.print(Text(file.text.rstrip("\n")))
    if plan.refusal:
        out.print(Text("\nrow", style="heading"))
        out.print(Text(plan.row))
    out.print()


def print_steps(steps: Iterable[NextStep]) -> None:
    """Print what the author of new patches does next.

    Args:
        steps: The steps.
    """
    out = console()
    out.print(Text("next", style="heading"))
    for number, step in enumerate(steps, start=1):
        out.print(Text.assemble((f"{number}. ", "note"), step.words))
        for command in (step.command or "").splitlines():
            out.print(Text(f"   {command}", style="name"), soft_wrap=True)
