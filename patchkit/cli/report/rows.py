"""`patchkit list`, `show`, `new` and `adopt` for a person: rows, in a table, on a page, made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import dedent

from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from patchkit.authoring.scaffold.plan import Plan
from patchkit.cli.report.console import columns, console, folded, print_diff_lines, whole
from patchkit.cli.report.here import ChangeHere, NextStep, RowHere
from patchkit.core.lock.format import Span
from patchkit.core.rows.declaration import Role, Row
from patchkit.core.versions.requirements import FoundVersion
from patchkit.errors import shown

_ROOM_FOR_WHY = 120
_STYLES = {"present": "ok", "undecided": "note", "absent": "bad", "no-module": "warn"}
_USUAL = (("count", 1), ("unrelated", False))
"""Fields that are worth a line only where they hold something else."""
_TEXTS = (
    *("why", "upstream", "sunset", "body", "after", "conflicts"),
    *("env", "when", "verify", "data"),
)
_MANY = 5
"""Runs of releases that are all told."""
_PLANNED = {"created": "would create", "edited": "would edit"}


def print_list(
    versions: Mapping[str, FoundVersion | None],
    rows: Sequence[tuple[Row, str | None]],
    *,
    everything: bool,
) -> None:
    """Print the versions here, and the patches with the reason why they do not apply here."""
    out = console()
    listed = [(row, reason) for row, reason in rows if everything or reason is None]
    if versions:
        table = columns()
        absent = Text("not installed", style="note")
        for name, found in versions.items():
            told = (found.version, Text(found.source, style="note")) if found else (absent,)
            table.add_row(name, *told)
        out.print(table)
    if listed:
        with_why = out.width >= _ROOM_FOR_WHY
        out.print("", _patches(listed, everything=everything, with_why=with_why))


def _patches(rows: Sequence[tuple[Row, str | None]], *, everything: bool, with_why: bool) -> Table:
    why = [Column("why")] if with_why else []
    here = folded("here" if everything else "requires")
    table = columns(whole("patch"), Column("roles"), here, *why)
    for pack in dict.fromkeys(row.pack for row, _ in rows):
        table.add_row(Text(pack, style="heading"))
        for row, reason in rows:
            if row.pack == pack:
                table.add_row(
                    Text(f"  {row.name}", style="note" if reason else "name"),
                    "all" if len(row.roles) == len(Role) else _roles(row),
                    _here(row, reason) if everything else Text(", ".join(row.patch.requires)),
                    *(Text(row.patch.why, "note", no_wrap=True, overflow="ellipsis") for _ in why),
                )
    return table


def _roles(row: Row) -> str:
    return ", ".join(role for role in Role if role in row.roles)


def _here(row: Row, reason: str | None) -> Text:
    if reason is not None:
        return Text(reason, style="note")
    asked = f", unless {row.patch.when}() of its body refuses" if row.patch.when else ""
    return Text(f"selected{asked}", style="ok")


def print_show(found: RowHere) -> None:
    """Print one row in full."""
    out = console()
    out.print(Text(found.row.name, style="name"), Text(found.row.pack, style="note"))
    out.print("", _fields(found))
    for number, change in enumerate(found.changes, start=1):
        kind, target = change.change.kind, str(change.change.place)
        out.print(Text.assemble(f"\n{number}. ", (kind, "heading"), " ", (target, "name")))
        out.print(Padding(_change_fields(change), (0, 0, 0, 3)))


def _fields(found: RowHere) -> Table:
    row, table = found.row, columns(whole(style="note"), folded())
    table.add_row("here", _selected(found.reason))
    table.add_row("roles", _roles(row))
    requires = columns()
    for text, version, reason in found.requirements:
        holds = Text("does not hold", "warn") if reason else Text("holds", "ok")
        here = f"{version.version} ({version.source})" if version else "not installed"
        requires.add_row(text, holds, Text(here, "note"))
    table.add_row("requires", requires)
    texts = {label: getattr(row.patch, label) for label in _TEXTS}
    texts["body"] = row.body if row.patch.body is not None else None
    texts["failure"] = "stops the process" if row.patch.required else "is a warning"
    texts["lock"] = shown(found.lock) if found.lock else "no lock file covers this patch"
    for label, words in texts.items():
        if words:
            table.add_row(label, Text(words if isinstance(words, str) else ", ".join(words)))
    return table


def _change_fields(found: ChangeHere) -> Table:
    table, change = columns(whole(style="note"), folded()), found.change
    if change.body_name:
        table.add_row("by", change.body_name)
    for label, value in found.fields.items():
        if (label, value) not in _USUAL:
            # As it stands, without the indentation that the row gave it.
            lines = dedent(str(value)).strip("\n")
            table.add_row(label, Text(lines) if lines.strip() else Text("(nothing)", style="note"))
    for text in change.requires:
        table.add_row("requires", text)
    if change.when:
        table.add_row("when", change.when)
    if found.reason:
        table.add_row("here", _selected(found.reason))
    if change.rebind is not True:
        table.add_row("rebind", ", ".join(change.rebind or ["no"]))
    target = found.target
    table.add_row("target", Text(target.detail, style=_STYLES[target.state]))
    if target.file:
        table.add_row("", Text(_where(found), style="note"))
    for label, words in _review(found):
        table.add_row(label, words)
    return table


def _review(found: ChangeHere) -> Iterator[tuple[str, Text]]:
    review = found.review
    if review is None or review.state == "no-lock":  # which the page says once
        return
    if review.spans:
        is_fine = review.state == "reviewed"
        yield "reviewed", Text("\n".join(_releases(review.spans)), "ok" if is_fine else "note")
    if words := review.detail.removeprefix(f"{found.change.place} "):
        label = "" if review.spans else "reviewed"
        yield label, Text(words, style="note" if found.reason else "warn")


def _releases(spans: Iterable[Span]) -> Iterator[str]:
    """Write the releases of each distribution on a line; of many, the first and the last few."""
    for project, group in groupby(spans, lambda span: span.project):
        texts = [
            span.first if span.first == span.last else f"{span.first} - {span.last}"
            for span in group
        ]
        if len(texts) > _MANY:
            middle = f"… {len(texts) - _MANY + 1} more …"
            texts = [texts[0], middle, *texts[len(texts) - _MANY + 2 :]]
        yield f"{project} {', '.join(texts)}"


def _where(found: ChangeHere) -> str:
    """Write the file from the top package on: its folder is that of every other target."""
    here = found.target
    path = Path(here.file or "")
    module = (here.defined or str(found.change.place)).partition(":")[0]
    depth = module.count(".") + 1 + (path.stem == "__init__")
    file = "/".join(path.parts[-depth:])
    return f"{file}:{here.line}" if here.line else file


def _selected(reason: str | None) -> Text:
    return Text(f"not selected: {reason}", "warn") if reason else Text("selected", "ok")


def print_new(plan: Plan, steps: Iterable[NextStep], *, written: bool) -> None:
    """Print the files, what is in them where they are only planned, and the next steps."""
    out = console()
    out.print(Text(plan.patch.name, style="name"), Text(plan.place.module, style="note"))
    table = columns()
    for file in plan.files:
        action = file.action if written else _PLANNED[file.action]
        table.add_row(Text(action, "ok"), Text(shown(file.path)), Text(file.what, "note"))
    out.print("", table)
    for file in () if written else plan.files:
        out.print(Text(f"\n{shown(file.path)}", style="heading"))
        if file.diff:
            print_diff_lines(file.diff, out)
        else:
            out.print(Text(file.text.rstrip("\n")))
    if plan.refusal:
        out.print(Text("\nrow", style="heading"))
        out.print(Text(plan.row))
    out.print(Text("\nnext", style="heading"))
    for number, step in enumerate(steps, start=1):
        text = Text.assemble((f"{number}. ", "note"), step.words)
        for line in (step.command or "").splitlines():
            text.append(f"\n   {line}", style="name")
        out.print(text)
