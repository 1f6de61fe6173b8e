"""CPU time of the pass that repoints copies, over the modules of a real vLLM."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from types import FunctionType

from benchmarks.measure import Samples, cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import has_module
from patchkit.changes.resolve import locate
from patchkit.changes.sites import Site, Sites
from patchkit.rebind import repoint

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
_ONE = "1 changed attribute"
_MANY = "60 changed attributes"


def run(rounds: int = 100) -> Result:
    """Import what an engine and its workers import, and look for copies of what they hold."""
    if not has_module("vllm"):
        return Result(_NAME, _TITLE, "ms", 0, notes=["vllm is not installed here: not measured"])
    notes = [note for name in _MODULES for note in _failure(name)]
    modules = list(sys.modules)
    locations = _sites(modules)[:: max(1, len(_sites(modules)) // 60)][:60]
    first = cpu_of(lambda: repoint(locations, modules, ("patchkit",)))
    samples = _measure(modules, locations, rounds)
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
            f"the first pass, caches cold: {first * scale:.1f} ms per 1,000 modules",
        ],
    )


def _failure(module: str) -> Iterator[str]:
    try:
        importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - whatever this release does not have, or cannot here
        yield f"{module} cannot be imported here ({type(error).__name__}: {error})"


def _sites(modules: list[str]) -> list[Site]:
    """A site at every function and class that a module of vLLM defines at its top."""
    sites = Sites()
    return [
        sites.at(locate(sys.modules[name], key))
        for name in modules
        if name.startswith("vllm.")
        for key, value in list(vars(sys.modules[name]).items())
        if isinstance(value, (FunctionType, type)) and value.__module__ == name
    ]


def _measure(modules: list[str], sites: list[Site], rounds: int) -> Samples:
    cases = {
        _SCAN: functools.partial(cpu_of, functools.partial(_scan, modules)),
        _ONE: functools.partial(_pass, modules, sites[:1]),
        _MANY: functools.partial(_pass, modules, sites),
    }
    return in_turns(cases, rounds)


def _pass(modules: list[str], sites: list[Site]) -> float:
    for site in sites:
        site.aliases.clear()
    return cpu_of(lambda: repoint(sites, modules, ("patchkit",)))


def _scan(modules: list[str]) -> None:
    for name in modules:
        for value in list(getattr(sys.modules[name], "__dict__", {}).values()):
            id(value)


def _globals(modules: list[str]) -> int:
    return sum(len(getattr(sys.modules[name], "__dict__", {})) for name in modules)
