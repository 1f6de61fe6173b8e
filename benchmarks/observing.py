"""CPU time of a call of patched code that is observed, after its first call."""

from __future__ import annotations

import importlib
import time
import timeit
from typing import TYPE_CHECKING, Any

from benchmarks.calls import BODY
from benchmarks.measure import Case, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder
from benchmarks.sessions import session_of
from patchkit.core.rows.declaration import Role
from patchkit.runtime.process.effects import CALLED
from patchkit.runtime.process.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.runtime.process.session import Session

_OBSERVED, _ALONE = "observed", "not observed"
_NAMES = {_OBSERVED: "observed", _ALONE: "alone"}
_LOOP = "empty loop"
_CALLS = 20_000
_KINDS = ("replaced", "edited", "wrapped")
_UPSTREAM = "".join(f"def {kind}(one, two=0):\n    return one\n" for kind in _KINDS)
_PACK = """
from patchkit import Edit, Patch, Replace, Role, Wrap

PATCHES = (
    Patch(
        name="{name}",
        body="patch_sample",
        requires=("sample>=1",),
        roles={{Role.MAIN}},
        changes=(
            Replace("upstream_{name}:replaced", by="replacement"),
            Edit("upstream_{name}:edited", old="return one", new="return (one)"),
            Wrap("upstream_{name}:wrapped", by="around"),
        ),
    ),
)
"""


def run(rounds: int = 150) -> Result:
    """Call the same code in turns, as a session with a journal leaves it, and one without."""
    with folder() as home:
        observed = _session(home, _NAMES[_OBSERVED], Journal(str(home / "journal")))
        sessions = [observed, _session(home, _NAMES[_ALONE], Journal())]
        cases: dict[str, Case] = {_LOOP: _timed("pass", {})}
        for case, name in _NAMES.items():
            upstream = vars(importlib.import_module(f"upstream_{name}"))
            cases[case] = _timed(
                "; ".join(f"{kind}(1, 2)" for kind in _KINDS), upstream
            )
        samples = in_turns(cases, rounds).above(_LOOP)
        _require_seen(observed)
        for session in sessions:
            session.become([])
            session.stand_down()
    cost = samples.ratio(_OBSERVED, _ALONE).median
    return Result(
        name="observing",
        title="a replaced, an edited and a wrapped function, called: CPU time beyond an empty loop",
        unit="ns",
        rounds=rounds,
        against=[_ALONE],
        lines=lines_of(samples, [_ALONE], 1e9),
        aims=[Aim("code that is observed costs what it does unobserved", cost, 1.02)],
        notes=[],
    )


def _require_seen(session: Session) -> None:
    """Refuse to report the cost of something that was not done."""
    session.lookout.effects.look()
    (entry,) = [one for one in session.journal.entries if one["event"] == "in-effect"]
    if {*entry["patches"][_NAMES[_OBSERVED]].values()} != {CALLED}:
        raise RuntimeError(f"found {entry['patches']}, expected that all were called")


def _session(home: Path, name: str, journal: Journal) -> Session:
    pack = home / f"pack_{name}"
    pack.mkdir()
    (pack / "__init__.py").write_text(_PACK.format(name=name))
    (pack / "patch_sample.py").write_text(BODY)
    (home / f"upstream_{name}.py").write_text(_UPSTREAM)
    importlib.invalidate_caches()
    session = session_of(f"pack_{name}", journal)
    session.arm([Role.MAIN])
    return session


def _timed(statement: str, names: dict[str, Any]) -> Case:
    timer = timeit.Timer(statement, timer=time.process_time, globals=names)
    return lambda: timer.timeit(_CALLS) / _CALLS
