"""CPU time of the pass that repoints copies and tells the others, over a real vLLM."""

from __future__ import annotations

import functools
import importlib
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

from benchmarks.measure import cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import has_module
from patchkit.runtime.changes.owners import Location, locate
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.repointing import repoint, restore
from patchkit.runtime.copies.scope import Keepers, SearchScope, scope_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = "aliases"
_TITLE = "The alias pass over a real vLLM, with its report: CPU time"
_MODULES = (
    "vllm.entrypoints.llm",
    "vllm.v1.engine.core",
    "vllm.v1.executor.multiproc_executor",
    "vllm.v1.worker.worker_base",
    "vllm.v1.worker.gpu_worker",
    "vllm.v1.worker.gpu_model_runner",
    "vllm.v1.worker.cpu_worker",
)
_SCAN = "a bare look at every global"
_COUNT = 165
_ONE = "1 changed attribute"
_MANY = f"{_COUNT} changed attributes"
_BACK = f"the pass after an undo of {_COUNT}"


def run(rounds: int = 100) -> Result:
    """Import what an engine and its workers import, and look for copies of what they hold."""
    if not has_module("vllm"):
        return Result(
            _NAME, _TITLE, "ms", 0, notes=["vllm is not installed here: not measured"]
        )
    notes = list(import_engine())
    modules = list(sys.modules)
    places = _places(modules)
    copies = _Pass(modules, places)
    first = copies()
    if not copies.found:
        raise RuntimeError("no copy was found, so that there is nothing to measure")
    samples = in_turns(
        {
            _SCAN: functools.partial(_scan, modules),
            _ONE: _Pass(modules, places[:1]),
            _MANY: copies,
            _BACK: _Pass(modules, places, back=True),
        },
        rounds,
    )
    scale = 1e3
    found = samples.spread(_MANY, scale).median / samples.spread(_SCAN, scale).median
    return Result(
        name=_NAME,
        title=_TITLE,
        unit="ms",
        rounds=rounds,
        against=[_SCAN],
        lines=lines_of(samples, [_SCAN], scale),
        aims=[
            Aim(
                "the alias pass takes under 4 times a bare look at every global",
                found,
                4.0,
            )
        ],
        notes=[
            *notes,
            f"{len(modules):,} modules with {_globals(modules):,} globals",
            f"{_MANY} have {copies.found} copies, which every pass repoints, and {copies.left} "
            "that are out of reach, which it names",
            f"the first pass, caches cold: {first * scale:.1f} ms",
        ],
    )


def import_engine() -> Iterator[str]:
    """Import what an engine and its workers import; yield what cannot be imported here."""
    return (note for name in _MODULES for note in _failure(name))


def _failure(module: str) -> Iterator[str]:
    try:
        importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - whatever this release does not have, or cannot here
        yield f"{module} cannot be imported here ({type(error).__name__}: {error})"


def _places(modules: list[str]) -> list[Location]:
    """As many as are wanted of vLLM's functions, classes and methods; a third are methods."""
    top = [
        (name, key, value)
        for name in modules
        if name.startswith("vllm.")
        for key, value in list(vars(sys.modules[name]).items())
        if isinstance(value, (FunctionType, type)) and value.__module__ == name
    ]
    inside = [
        (name, f"{key}.{inner}")
        for name, key, value in top
        if isinstance(value, type)
        for inner, held in vars(value).items()
        if isinstance(held, FunctionType) and not inner.startswith("__")
    ]
    third = _COUNT // 3
    chosen = [(name, key) for name, key, _ in _some(top, _COUNT - third)] + _some(
        inside, third
    )
    return [locate(sys.modules[name], qualname) for name, qualname in chosen]


def _some(things: list[Any], count: int) -> list[Any]:
    return things[:: len(things) // count][:count]


class _Pass:
    """Changes attributes, repoints their copies, and takes all back; costs what repointing does.

    Args:
        modules: names of the modules to look through.
        places: the attributes.
        back: whether to measure the pass after the undo in place of the one after the change.
    """

    def __init__(
        self, modules: list[str], places: list[Location], *, back: bool = False
    ) -> None:
        self.found = self.left = 0
        self._where = SearchScope(modules)
        self._places = places
        self._back = back

    def __call__(self) -> float:
        sites = Sites()
        keepers = Keepers(("patchkit",), (), sites)
        changed = [sites.at(place) for place in self._places]
        layers = [Layer(lambda _: object()) for _ in changed]
        for site, layer in zip(changed, layers, strict=True):
            site.rebind = scope_of("vllm", rebind=True)
            site.put(layer)
        cost = cpu_of(lambda: self._repoint(changed, keepers))
        for site, layer in zip(changed, layers, strict=True):
            site.remove(layer)
        return (
            cpu_of(lambda: restore(changed, self._where, keepers))
            if self._back
            else cost
        )

    def _repoint(self, changed: list[Site], keepers: Keepers) -> None:
        outcome = repoint(changed, self._where, keepers)
        self.found, self.left = len(outcome.rebound), len(outcome.left)


def _scan(modules: list[str]) -> float:
    return cpu_of(lambda: [id(value) for name in modules for value in _values(name)])


def _values(module: str) -> list[object]:
    return list(getattr(sys.modules[module], "__dict__", {}).values())


def _globals(modules: list[str]) -> int:
    return sum(len(_values(name)) for name in modules)
