"""CPU time and memory of applying a patch and taking it back, ten thousand times in one process."""

from __future__ import annotations

import gc
import importlib
import time
import tracemalloc
from typing import TYPE_CHECKING

from benchmarks.measure import Samples
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder
from benchmarks.sessions import session_of
from patchkit.core.rows.declaration import Role

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.runtime.process.journal import Journal
    from patchkit.runtime.process.session import Session

_FIRST = "the first thousand"
_LAST = "the last thousand"
_THOUSAND = 1_000
_AT_ONCE = 50
_WATCHED = 200

_UPSTREAM = """
import functools
def replaced(x): return x
def wrapped(x): return x
def edited(x): return x + 1
@functools.lru_cache
def cached(x): return x
class Sample:
    def method(self): return 1
    @property
    def size(self): return 1
    @staticmethod
    def static(x): return x
"""
_PACK = """
from patchkit import Add, Edit, Patch, Replace, Role, Wrap
UP, COMMON = "sample_cycles", {"requires": ("sample>=1",), "body": "patch_it"}
def row(name, *changes, role):
    return Patch(name=name, roles={role}, changes=changes, **COMMON)
PATCHES = (
    row(
        "comes-and-goes",
        Replace(f"{UP}:replaced", by="negative"),
        Wrap(f"{UP}:wrapped", by="around"),
        Edit(f"{UP}:edited", old="x + 1", new="x + 2"),
        Replace(f"{UP}:cached", by="negative"),
        Wrap(f"{UP}:Sample.method", by="around"),
        Wrap(f"{UP}:Sample.size", by="around"),
        Replace(f"{UP}:Sample.static", by="negative"),
        Add(f"{UP}:Sample.new", by="negative"),
        role=Role.WORKER,
    ),
    row(
        "stays",
        Wrap(f"{UP}:wrapped", by="around"),
        Edit(f"{UP}:edited", old="return", new="return -"),
        role=Role.MAIN,
    ),
)
"""
_BODY = """
def negative(x): return -x
def around(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
"""


def run(rounds: int = 10) -> Result:
    """Apply and take back in `rounds` thousands; another patch stays on the same functions."""
    with folder() as home:
        session, journal = _session(home)
        costs = [_thousand(session, journal) for _ in range(rounds)]
        grown = _grown(session, journal)
    samples = Samples({_FIRST: costs[0], _LAST: costs[-1]})
    ratio = samples.ratio(_LAST, _FIRST).median
    return Result(
        name="cycles",
        title=f"{rounds},000 times applied and taken back: CPU time of one cycle",
        unit="ms",
        rounds=len(costs[0]),
        against=[_FIRST],
        lines=lines_of(samples, [_FIRST], 1e3),
        aims=[
            Aim("the last thousand cycles against the first", ratio, 1.1),
            Aim("bytes that a cycle leaves, after them", grown, 16.0),
        ],
        notes=[
            "8 changes of one patch; the journal's entries, which have a limit, are left out"
        ],
    )


def _session(home: Path) -> tuple[Session, Journal]:
    (home / "sample_cycles.py").write_text(_UPSTREAM)
    (home / "sample_user.py").write_text("from sample_cycles import *\n")
    (home / "cycles_pack").mkdir()
    (home / "cycles_pack" / "__init__.py").write_text(_PACK)
    (home / "cycles_pack" / "patch_it.py").write_text(_BODY)
    session = session_of("cycles_pack")
    importlib.import_module("sample_user")
    session.arm([Role.MAIN])
    return session, session.journal


def _cycles(session: Session, journal: Journal, count: int) -> None:
    for _ in range(count):
        session.blocks.let_go(session.blocks.hold(["comes-and-goes"]))
    journal.entries.clear()


def _thousand(session: Session, journal: Journal) -> list[float]:
    """Measure a thousand cycles, some at a time, without garbage collection inside."""
    costs = []
    for _ in range(_THOUSAND // _AT_ONCE):
        gc.collect()
        begin = time.process_time()
        _cycles(session, journal, _AT_ONCE)
        costs.append((time.process_time() - begin) / _AT_ONCE)
    return costs


def _grown(session: Session, journal: Journal) -> float:
    """Count the bytes that a cycle leaves behind."""
    tracemalloc.start()
    _cycles(session, journal, _WATCHED)
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    _cycles(session, journal, _WATCHED)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return max(0.0, (after - before) / _WATCHED)
