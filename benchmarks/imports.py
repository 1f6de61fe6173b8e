"""CPU time of 1,000 imports, with a finder of patchkit's or of wrapt's in front of the others."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

from benchmarks.measure import Case, Samples, cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, has_module, write_modules
from patchkit.bodies import stop_watching_bodies
from patchkit.finder import Finder

NONE = "no finder"
_AGAIN = "no finder, once more"
_COUNT = 1000
_UNRELATED = [f"unrelated.module_{number}" for number in range(_COUNT)]
_SITUATIONS = ("no names", "1,000 unrelated names", "1,000 matching names")

Hooked = Callable[[Sequence[str]], AbstractContextManager[object]]


def run(rounds: int = 60) -> Result:
    """Import the same modules again and again, with one finder after the other."""
    stop_watching_bodies()  # patchkit's own, which `import patchkit` installed here
    sys.dont_write_bytecode = False  # who compiles at every import measures that
    with folder() as place:
        names = write_modules(place, "sample_modules", _COUNT)
        samples = in_turns(_cases(names), rounds)
    against = [NONE]
    return Result(
        name="imports",
        title="1,000 imports of small modules: CPU time",
        unit="ms",
        rounds=rounds,
        against=against,
        lines=lines_of(samples, against, 1e3),
        aims=_aims(samples),
        notes=[] if has_module("wrapt") else ["wrapt is not installed here: nothing beside it"],
    )


def _cases(names: Sequence[str]) -> dict[str, Case]:
    plain = functools.partial(_import_all, names, nullcontext)
    cases: dict[str, Case] = {NONE: plain, _AGAIN: plain}
    hooks: dict[str, Hooked] = {"patchkit": _patchkit}
    if has_module("wrapt"):
        hooks["wrapt"] = _wrapt
    for tool, hooked in hooks.items():
        for situation, watched in zip(_SITUATIONS, ((), _UNRELATED, names), strict=True):
            finder = functools.partial(hooked, watched)
            cases[f"{tool}, {situation}"] = functools.partial(_import_all, names, finder)
    return cases


def _import_all(names: Sequence[str], finder: Callable[[], Any]) -> float:
    for name in names:
        sys.modules.pop(name, None)
    with finder():
        return cpu_of(lambda: [__import__(name) for name in names])


def _aims(samples: Samples) -> list[Aim]:
    found = samples.ratio(f"patchkit, {_SITUATIONS[1]}", NONE).median
    return [Aim("imports that no patch is about take 1.01 times as long at most", found, 1.01)]


class _Watcher:
    """Is told, and does nothing."""

    def importing(self, name: str) -> None:
        pass

    def imported(self, name: str, module: ModuleType) -> None:
        pass


@contextmanager
def _patchkit(names: Sequence[str]) -> Any:
    finder = Finder(_Watcher())
    finder.watch(names)
    finder.install()
    try:
        yield
    finally:
        finder.uninstall()


@contextmanager
def _wrapt(names: Sequence[str]) -> Any:
    # wrapt installs its finder once and for all; to take it away again is not foreseen.
    from wrapt import importer, register_post_import_hook  # noqa: PLC0415 - it may not be there

    before = list(sys.meta_path)
    importer._post_import_hooks_init = False
    try:
        for name in names or ["unrelated"]:
            register_post_import_hook(lambda module: None, name)
        if not names:
            importer._post_import_hooks.clear()
        yield
    finally:
        importer._post_import_hooks.clear()
        sys.meta_path[:] = before
