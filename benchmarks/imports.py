"""CPU time of 1,000 imports, with a finder of patchkit's or of wrapt's in front of the others."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from benchmarks.measure import Case, Samples, cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, has_module, write_modules
from patchkit.runtime.imports.finder import BodyFinder, Finder

if TYPE_CHECKING:
    from types import ModuleType

NONE = "no finder"
_AGAIN = "no finder, once more"
_IDLE = "a finder that does nothing"
_COUNT = 1000
_IN_A_TURN = 100
_UNRELATED = [f"unrelated.module_{number}" for number in range(_COUNT)]
_SITUATIONS = ("no names", "1,000 unrelated names", "1,000 matching names")

Hooked = Callable[[Sequence[str]], AbstractContextManager[object]]


def run(rounds: int = 300) -> Result:
    """Import the same modules again and again, with one finder after the other."""
    for finder in [one for one in sys.meta_path if isinstance(one, BodyFinder)]:
        finder.uninstall()  # `import patchkit` installed it here
    sys.dont_write_bytecode = False  # who compiles at every import measures that
    with folder() as place:
        names = write_modules(place, "sample_modules", _COUNT)
        _import(names)  # compiles them
        samples = in_turns(_cases(names), rounds)
    against = [NONE]
    return Result(
        name="imports",
        title="1,000 imports: CPU time",
        unit="ms",
        rounds=rounds,
        against=against,
        lines=lines_of(samples, against, 1e3),
        aims=_aims(samples),
        notes=[*_notes(samples)],
    )


def _cases(names: Sequence[str]) -> dict[str, Case]:
    finders: dict[str, Callable[[], AbstractContextManager[object]]] = {
        NONE: nullcontext,
        _AGAIN: nullcontext,
        _IDLE: _idle,
    }
    hooks: dict[str, Hooked] = {"patchkit": _patchkit}
    if has_module("wrapt"):
        hooks["wrapt"] = _wrapt
    for tool, hooked in hooks.items():
        for situation, watched in zip(
            _SITUATIONS, ((), _UNRELATED, names), strict=True
        ):
            finders[f"{tool}, {situation}"] = functools.partial(hooked, watched)
    return {case: _turns(names, finder) for case, finder in finders.items()}


def _turns(
    names: Sequence[str], finder: Callable[[], AbstractContextManager[object]]
) -> Case:
    """A tenth of the imports in each turn: what lies close together is disturbed alike."""
    starts = itertools.cycle(range(0, _COUNT, _IN_A_TURN))

    def turn() -> float:
        start = next(starts)
        chosen = names[start : start + _IN_A_TURN]
        for name in chosen:
            sys.modules.pop(name, None)
        with finder():
            return cpu_of(lambda: _import(chosen)) * _COUNT / _IN_A_TURN

    return turn


def _import(names: Sequence[str]) -> None:
    for name in names:
        __import__(name)


def _notes(samples: Samples) -> Iterator[str]:
    for case in (_IDLE, f"patchkit, {_SITUATIONS[1]}", f"patchkit, {_SITUATIONS[2]}"):
        more = samples.above(NONE).spread(case, 1e6 / _COUNT).median
        yield f"{case}: {more:.1f} µs more per import"
    if not has_module("wrapt"):
        yield "wrapt is not installed here: nothing beside it"


def _aims(samples: Samples) -> list[Aim]:
    found = samples.ratio(f"patchkit, {_SITUATIONS[1]}", NONE).median
    return [
        Aim(
            "imports that no patch is about take 1.01 times as long at most",
            found,
            1.01,
        )
    ]


class _Idle:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        pass


@contextmanager
def _idle() -> Iterator[None]:
    """What importlib alone takes to ask one finder more."""
    finder = _Idle()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _nothing(module: ModuleType) -> None:
    """Be a hook."""


class _Watcher:
    """Is told, and does nothing."""

    def importing(self, name: str) -> None:
        pass

    def imported(self, name: str, module: ModuleType) -> None:
        pass

    def import_ended(self, name: str) -> None:
        pass

    def main_unreachable(self, name: str, reason: str) -> None:
        pass


@contextmanager
def _patchkit(names: Sequence[str]) -> Iterator[None]:
    finder = Finder(_Watcher())
    finder.watch(names)
    finder.install()
    try:
        yield
    finally:
        finder.uninstall()


@contextmanager
def _wrapt(names: Sequence[str]) -> Iterator[None]:
    # wrapt installs its finder once and for all; to take it away again is not foreseen.
    import wrapt  # noqa: PLC0415 - it may not be there

    importer = sys.modules["wrapt.importer"]
    before = list(sys.meta_path)
    importer._post_import_hooks_init = False  # type: ignore[attr-defined]
    try:
        for name in names or ["unrelated"]:
            wrapt.register_post_import_hook(_nothing, name)
        if not names:
            importer._post_import_hooks.clear()
        yield
    finally:
        importer._post_import_hooks.clear()
        sys.meta_path[:] = before
