"""`patchkit diff`, `history` and `matrix`: a target, or a patch, through the releases."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rich.table import Column
from rich.text import Text

from patchkit.analysis.check.breaking import Break
from patchkit.analysis.check.comparison import Comparison, Step
from patchkit.analysis.check.matrix import Boundary
from patchkit.cli.report.console import Line, columns, console, print_diff_lines, print_lines, whole
from patchkit.cli.report.words import markdown_table
from patchkit.core.rows.target import Target

_FINGERPRINT = 8
_STYLES = {"present": "ok", "absent": "note", "undecidable": "warn", "unreadable": "bad"}


def print_diff(title: str, several: Sequence[Comparison]) -> None:
    """Print what upstream changed in each target, as a unified diff."""
    out = console()
    out.print(Text(title, style="heading"))
    for comparison in several:
        out.print(Text(f"{comparison.target}: {_words(comparison)}", style="name"))
        print_diff_lines(comparison.diff.splitlines(), out)


def _words(comparison: Comparison) -> str:
    old, new = comparison.old, comparison.new
    states = {old.facts.state, new.facts.state}
    if states == {"absent"}:
        return "in neither of them"
    if new.place != old.place:
        return f"now at {new.place}" + (", changed" if comparison.changed else "")
    if len(states) > 1:
        return f"{old.facts.state}, then {new.facts.state}"
    if comparison.changed:
        return "changed"
    return "the same" if not comparison.diff else "changed in layout, comments or annotations alone"


def print_matrix(project: str, chosen: Mapping[str, Iterable[str]]) -> None:
    """Print the releases that were chosen, and which cases each exercises."""
    table = columns(whole(project), Column("exercises"))
    for release, cases in chosen.items():
        table.add_row(Text(release, "name"), Text("\n".join(cases), "note"))
    console().print(table)


def print_boundaries(found: Iterable[Boundary]) -> None:
    """Print both ends of each range, and what covers them."""
    table = columns(*map(whole, ("patch", "bound", "release", "covered by")))
    for one in found:
        style = {"reason": "warn", "imported only": "warn", "no": "bad"}.get(one.covered, "ok")
        said = one.reason or " and ".join(one.lanes) or "nothing"
        said += ", imported only" if one.covered == "imported only" else ""
        name = one.patch if one.change is None else f"{one.patch}, change {one.change}"
        edge = one.edge or "none"
        table.add_row(Text(name, "name"), one.requirement, edge, Text(said, style))
    console().print(table)


def print_history(target: Target, steps: Iterable[Step]) -> None:
    """Print where a target was; releases that say the same are one line."""
    out = console()
    out.print(Text(str(target), style="heading"))
    heads = [Text(name, "table.header") for name in ("releases", "state", "source")]
    print_lines(out, [(heads, "what happened"), *_rows(steps)])


def _rows(steps: Iterable[Step]) -> Iterator[Line]:
    before: Step | None = None
    for _, group in groupby(steps, lambda step: (step.state, step.fingerprint, step.moved_to)):
        first, *others = group
        last = others[-1] if others else first
        span = f"{first.release} - {last.release}" if others else first.release
        state = Text(first.state, _STYLES[first.state])
        if first.state == "absent" and first.moved_to:
            state = Text("elsewhere", "warn")
        mark = (first.fingerprint or "")[:_FINGERPRINT]
        yield [Text(span), state, Text(mark, "note")], _event(first, before)
        before = last


def _event(step: Step, before: Step | None) -> str:
    was_nowhere = before is not None and before.state == "absent" and before.moved_to is None
    if step.state in {"unreadable", "undecidable"}:
        return step.reason
    if step.moved_to:
        return _at(step, before)
    if step.state == "absent":
        return "" if before is None or was_nowhere else f"gone: {step.reason}"
    if before is None:
        return ""
    if before.state == "present":
        return "changed"
    came = "appeared" if was_nowhere else "came here"
    return f"{came}, changed" if step.changed else came


def _at(step: Step, before: Step | None) -> str:
    same_place = before is not None and before.moved_to == step.moved_to
    alike = "" if same_place or step.likeness is None else f", {step.likeness:.0%} alike"
    where = f"{'' if same_place else 'in '}{step.moved_to}{alike}"
    return f"{where}, changed" if step.changed else where


def break_lines(name: str, found: Mapping[str, Break]) -> str:
    """Write two lines for each history that was looked at, and what the patch runs into."""
    lines = []
    for what, held, broke in _told(found):
        lines += [f"{what:9}  holds on {held}", f"{'':9}  breaks on {broke}"]
    return "\n".join([name, *(f"  {line}" for line in (*lines, *_faults(found)))])


def break_markdown(name: str, found: Mapping[str, Break]) -> str:
    """Write a table for an issue, and what the patch runs into below it."""
    table = markdown_table(("over", "last that holds", "first that breaks"), _told(found))
    return "\n".join([f"Patch `{name}`:", "", *table, "", *(f"- {one}" for one in _faults(found))])


def _told(found: Mapping[str, Break]) -> Iterator[tuple[str, str, str]]:
    for what, one in found.items():
        held, broke = one.ends
        yield what, held or "none", broke or "none"


def _faults(found: Mapping[str, Break]) -> list[str]:
    told = (
        f"{one.code.code} {one.message.partition(chr(10))[0]}"
        for each in found.values()
        for one in each.faults
    )
    return [*dict.fromkeys(told)]
