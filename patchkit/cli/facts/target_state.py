"""What stands at a target here, as its source tells; nothing upstream is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.cli.facts.module_source import file_of, find_module
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from patchkit.report.shapes import StateShape
    from patchkit.rows.target import Target
    from patchkit.upstream.facts import Facts
    from patchkit.upstream.here import Here


def state_of(target: Target, here: Here) -> StateShape:
    """Say whether a target is here, what it is, and where it is defined."""
    spec = find_module(target.module)
    if spec is None:
        return _state("no-module", f"module {target.module} is not found here")
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
        return _state("absent", facts.reason, file)
    return _undecided(facts.reason, file)


def _module(target: Target, file: str | None) -> StateShape:
    if target.qualname:
        return _undecided(f"{target.module} has no source that can be read", file)
    return _state("present", "module", file, defined=target.module)


def _present(target: Target, facts: Facts, file: str) -> StateShape:
    module = facts.module or target.module
    if module != target.module:
        file = file_of(find_module(module)) or file
    line = facts.lines[0] if facts.lines else None
    defined = f"{module}:{facts.qualname}" if facts.qualname else module
    return _state("present", _words(target, facts), file, line, defined)


def _words(target: Target, facts: Facts) -> str:
    """Say what it is and where from, and what is not sure about it."""
    what = facts.kind or "present"
    if facts.owner:
        what += f", inherited from {facts.owner}"
    elif facts.qualname:
        what += f", defined in {facts.module}"
        what += f" as {facts.qualname}" if facts.qualname != target.qualname else ""
    return f"{what}; {facts.reason}" if facts.reason else what


def _undecided(why: str, file: str | None) -> StateShape:
    return _state("undecided", f"not decidable statically: {why}", file)


def _state(
    state: str,
    detail: str,
    file: str | None = None,
    line: int | None = None,
    defined: str | None = None,
) -> StateShape:
    return {"state": state, "file": file, "line": line, "detail": detail, "defined": defined}
