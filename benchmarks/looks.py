"""CPU time of one look at everything that a process has applied."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from benchmarks.measure import cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder
from benchmarks.sessions import session_of
from patchkit.core.rows.declaration import Role
from patchkit.runtime.process.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from patchkit.runtime.changes.site import Site
    from patchkit.runtime.process.session import Session

_ROWS, _CHANGES = 60, 165
_LOOKS = 20
_LOOK = "a look, with its line in the journal"
_READ = "165 attributes read"


def run(rounds: int = 20) -> Result:
    """Apply 165 changes of 60 rows, and look at them."""
    with folder() as home:
        session = _session(home)
        sites = [
            site
            for state in session.states.values()
            for _, site in state.groups[0].made.sites
        ]
        if len(sites) != _CHANGES:
            raise RuntimeError(f"{len(sites)} of {_CHANGES} changes were applied")
        cases = {
            _LOOK: lambda: cpu_of(lambda: _times(session.lookout.look)),
            _READ: lambda: cpu_of(lambda: _times(lambda: _read_all(sites))),
        }
        samples = in_turns(cases, rounds)
        session.become([])
        session.stand_down()
    scale = 1e3 / _LOOKS
    found = samples.spread(_LOOK, scale).median
    return Result(
        name="looks",
        title=f"one look at {_CHANGES} changes of {_ROWS} rows: CPU time",
        unit="ms",
        rounds=rounds,
        against=[_READ],
        lines=lines_of(samples, [_READ], scale),
        aims=[
            Aim("a look takes less than 0.01% of a processor, each 30 s", found, 3.0)
        ],
        notes=[f"each the mean of {_LOOKS} looks"],
    )


def _times(look: Callable[[], None]) -> None:
    for _ in range(_LOOKS):
        look()


def _read_all(sites: Sequence[Site]) -> None:
    for site in sites:
        getattr(site.owner, str(site.name))


def _session(home: Path) -> Session:
    for number in range(_ROWS):
        functions = "".join(f"def f{each}(): ...\n" for each in range(3))
        _write(home / "sample_upstream" / f"module_{number}.py", functions)
        _write(
            home / "sample_pack" / f"patch_{number}.py",
            "def by(w, i, a, k): return w()\n",
        )
    rows = ", ".join(map(_row, range(_ROWS)))
    text = f"from patchkit import Patch, Role, Wrap\nPATCHES = ({rows},)\n"
    _write(home / "sample_pack" / "__init__.py", text)
    _write(home / "sample_upstream" / "__init__.py", "")
    importlib.invalidate_caches()
    session = session_of("sample_pack", Journal(str(home / "journal")))
    session.arm([Role.MAIN])
    for number in range(_ROWS):
        importlib.import_module(f"sample_upstream.module_{number}")
    return session


def _row(number: int) -> str:
    count = len(range(number, _CHANGES, _ROWS))
    changes = "".join(
        f"Wrap('sample_upstream.module_{number}:f{each}', by='by'),"
        for each in range(count)
    )
    fields = "requires=('sample>=1',), roles={Role.MAIN}"
    return f"Patch(name='s-{number}', body='patch_{number}', {fields}, changes=({changes}))"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
