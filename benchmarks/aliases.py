"""CPU time of the pass that repoints copies, over the modules of a real vLLM."""

from __future__ import annotations

import functools
import importlib
import sys
from types import FunctionType
from typing import TYPE_CHECKING

from benchmarks.measure import cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import has_module
from patchkit.changes.resolve import Location, locate
from patchkit.changes.sites import Layer, Site, Sites
from patchkit.rebind import Held, repoint

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = "aliases"
_TITLE = "The alias pass over a real vLLM: CPU time per 1,000 modules"
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
_COUNT = 60
_ONE = "1 changed attribute"
_MANY = f"{_COUNT} changed attributes"


def run(rounds: int = 100) -> Result:
    """Import what an engine and its workers import, and look for copies of what they hold."""
    if not has_module("vllm"):
        return Result(_NAME, _TITLE, "ms", 0, notes=["vllm is not installed here: not measured"])
    notes = [note for name in _MODULES for note in _failure(name)]
    modules = list(sys.modules)
    places = _places(modules)
    copies = _Pass(modules, places)
    first = copies()
    if not copies.found:
        raise RuntimeError("no copy was found, so that there is nothing to measure")
    samples = in_turns(
        {_SCAN: functools.partial(_scan, modules), _ONE: _Pass(modules, places[:1]), _MANY: copies},
        rounds,
    )
    scale = 1e6 / len(modules)
    found = samples.spread(_MANY, scale).median
    return Result(
        name=_NAME,
        title=_TITLE,
        unit="ms",
        rounds=rounds,
        against=[_SCAN],
        lines=lines_of(samples, [_SCAN], scale),
        aims=[Aim("the alias pass takes under 15 ms per 1,000 modules", found, 15.0)],
        notes=[
            *notes,
            f"{len(modules):,} modules with {_globals(modules):,} globals",
            f"{_MANY} have {copies.found} copies, which every pass repoints",
            f"the first pass, caches cold: {first * scale:.1f} ms per 1,000 modules",
        ],
    )


def _failure(module: str) -> Iterator[str]:
    try:
        importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - whatever this release does not have, or cannot here
        yield f"{module} cannot be imported here ({type(error).__name__}: {error})"


def _places(modules: list[str]) -> list[Location]:
    """As many functions and classes as are wanted, of those at the top of vLLM's modules."""
    places = [
        locate(sys.modules[name], key)
        for name in modules
        if name.startswith("vllm.")
        for key, value in list(vars(sys.modules[name]).items())
        if isinstance(value, (FunctionType, type)) and value.__module__ == name
    ]
    return places[:: len(places) // _COUNT][:_COUNT]


class _Pass:
    """
    Changes attributes, repoints their copies, and takes all back; costs what repointing does.

    Args:
        modules: names of the modules to look through.
        places: the attributes.

    """

    def __init__(self, modules: list[str], places: list[Location]) -> None:
        self.found = 0
        self._modules = modules
        self._places = places

    def __call__(self) -> float:
        sites = Sites()
        held = Held(("patchkit",), sites.holds)
        changed = [sites.at(place) for place in self._places]
        layers = [Layer(lambda _: object()) for _ in changed]
        for site, layer in zip(changed, layers, strict=True):
            site.put(layer)
        cost = cpu_of(lambda: self._repoint(changed, held))
        for site, layer in zip(changed, layers, strict=True):
            site.take(layer)
        return cost

    def _repoint(self, changed: list[Site], held: Held) -> None:
        self.found = len(repoint(changed, self._modules, held))


def _scan(modules: list[str]) -> float:
    return cpu_of(lambda: [id(value) for name in modules for value in _values(name)])


def _values(module: str) -> list[object]:
    return list(getattr(sys.modules[module], "__dict__", {}).values())


def _globals(modules: list[str]) -> int:
    return sum(len(_values(name)) for name in modules)
