"""Prints the result of `patchkit probe`: for each target its processes, and the roles of a row."""

from rich.console import Console
from rich.text import Text

from patchkit.analysis.status.probed import (
    CALLED,
    IMPORTED,
    NEVER_IMPORTED,
    TRACED,
    ProbedProcess,
    ProbedTarget,
    ProbeResult,
)
from patchkit.cli.report.console import console, plain
from patchkit.cli.report.words import count
from patchkit.core.record import grouped

_MOST_PIDS = 4
_NO_ROLE = "no role"


def print_probe(result: ProbeResult) -> None:
    """Print each target, with the roles that a row needs, and the processes.

    Args:
        result: The processes and the targets.
    """
    out = console()
    for number, target in enumerate(result.targets):
        if number:
            out.print()
        out.print(plain(target.target, "name"), soft_wrap=True)
        out.print(Text.assemble("  roles: ", _roles(target)), soft_wrap=True)
        _print_processes(target, out)


def _roles(target: ProbedTarget) -> Text:
    """Return the roles that a row needs, and how sure that is if the target was not called."""
    roles = ", ".join(target.roles) or "none"
    if target.evidence == CALLED and target.roles:
        return Text(roles, "ok")
    unsure = "it was never called"
    if any(seen.calls is None for seen in target.processes):
        unsure = "its calls cannot be counted"
    why = {
        CALLED: "it was called only in processes of no role",
        TRACED: "torch.compile traced it there",
        IMPORTED: f"{unsure}; its module was imported there",
        NEVER_IMPORTED: (
            "its module was never imported under this name: the run did not get there, or ran it "
            "as a script"
        ),
    }
    return Text(f"{roles} ({why[target.evidence]})", "warn")


def _print_processes(target: ProbedTarget, out: Console) -> None:
    """Print a line for processes that did the same with a target, and the number of all others."""
    lines = grouped((_line(seen), seen) for seen in target.processes if _has_seen(seen))
    for (role, words), alike in lines.items():
        pids = [str(seen.process.pid) for seen in alike]
        shown = f"pid {', '.join(pids)}"
        if len(pids) > _MOST_PIDS:
            shown = count(len(pids), "process")
        out.print(plain(f"  {role}, {shown}: {words}"), soft_wrap=True)
    others = [seen for seen in target.processes if not _has_seen(seen)]
    if others and lines:  # without lines, the roles are followed by the same message
        number = count(len(others), "process")
        out.print(plain(f"  not imported in {number}", "note"), soft_wrap=True)


def _has_seen(seen: ProbedProcess) -> bool:
    """Return whether a process has imported the target's module."""
    return seen.evidence != NEVER_IMPORTED


def _line(seen: ProbedProcess) -> tuple[str, str]:
    """Return the roles of a process, and what it did with the target, in words."""
    role = " and ".join(seen.process.roles) or _NO_ROLE
    return role, _words(seen)


def _words(seen: ProbedProcess) -> str:
    """Return what a process did with a target: `called 3 times, first from …`."""
    if seen.calls is None:
        return f"imported; calls cannot be counted: {seen.reason}"
    traced = ""
    if seen.probe.is_traced:
        traced = ", traced by torch.compile"
    if not seen.calls:
        return f"imported, never called{traced}"
    words = f"called {_times(seen.calls)}{traced}"
    first = seen.probe.first
    if first is not None:
        words += f", first from {_short(first.file)}:{first.line} ({first.at})"
    return words


def _times(calls: int) -> str:
    if calls == 1:
        return "once"
    return f"{calls} times"


def _short(file: str) -> str:
    """Return the path of a file in site-packages; another file's path stays as it is."""
    return file.rpartition("/site-packages/")[2]
