"""What stands at a target here, as its source tells; nothing upstream is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.cli.module_source import file_of, find_module
from patchkit.errors import UpstreamError
from patchkit.report.here import TargetHere

if TYPE_CHECKING:
    from patchkit.rows.target import Target
    from patchkit.upstream.facts import Facts
    from patchkit.upstream.here import Here


def state_of(target: Target, here: Here) -> TargetHere:
    """Say whether a target is here, what it is, and where it is defined."""
    spec = find_module(target.module)
    if spec is None:
        return TargetHere(
            "no-module", None, None, f"module {target.module} is not found here", None
        )
    file = file_of(spec)
    if not target.qualname or file is None or not file.endswith(".py"):
        return _module(target, file)
    top = target.module.partition(".")[0]
    if file_of(find_module(top)) is None:
        return _undecided(f"{top} is a namespace package, which is not looked into", file)
    try:
        facts = here.facts(target)
    except UpstreamError as error:
        return _undecided(str(error), file)
    if facts.is_present:
        return _present(target, facts, file)
    if facts.state == "absent":
        return TargetHere("absent", file, None, facts.reason, None)
    return _undecided(facts.reason, file)


def _module(target: Target, file: str | None) -> TargetHere:
    if target.qualname:
        return _undecided(f"{target.module} has no source that can be read", file)
    return TargetHere("present", file, None, "module", target.module)


def _present(target: Target, facts: Facts, file: str) -> TargetHere:
    module = facts.module or target.module
    if module != target.module:
        file = file_of(find_module(module)) or file
    line = facts.lines[0] if facts.lines else None
    defined = f"{module}:{facts.qualname}" if facts.qualname else module
    return TargetHere("present", file, line, _words(target, facts), defined)


def _words(target: Target, facts: Facts) -> str:
    """Say what it is and where from, and what is not sure about it."""
    what = facts.kind or "present"
    if facts.owner:
        what += f", inherited from {facts.owner}"
    elif facts.qualname:
        what += f", defined in {facts.module}"
        what += f" as {facts.qualname}" if facts.qualname != target.qualname else ""
    return f"{what}; {facts.reason}" if facts.reason else what


def _undecided(why: str, file: str | None) -> TargetHere:
    return TargetHere("undecided", file, None, f"not decidable statically: {why}", None)
