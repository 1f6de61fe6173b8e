"""CPU time to apply a whole pile of patches to an imported vLLM, and to take it back."""

from __future__ import annotations

import inspect
import sys
import textwrap
import time
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from benchmarks.aliases import import_engine
from benchmarks.measure import Case, cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, has_module
from benchmarks.sessions import session_of
from patchkit.core.rows.declaration import Role
from patchkit.errors import TargetError
from patchkit.runtime.changes.objects.kernels import operator_at
from patchkit.runtime.changes.owners import Location, is_pydantic
from patchkit.runtime.changes.sites import Sites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from patchkit.runtime.process.session import Session

_NAME = "pile"
_TITLE = "165 changes to an imported vLLM, applied and taken back: CPU time"
_FUNCTIONS, _METHODS, _ROWS = 99, 66, 51
"""As many as vllm-ascend 0.27.1 has: 165 binding sites in 51 files (counted 2026-11)."""
_EDITS = 10
_LIMIT = 125.0
"""100 ms, where `mock.patch.object` takes 0.8 ms for as many attributes and looks for no copy."""

_PATCHKIT = "patchkit, Wrap and Replace"
_PATCHKIT_EDIT = f"patchkit, {_EDITS} Edits"
_MOCK = "mock.patch.object, no copies"
_WRAPT = "wrapt.wrap_object, no copies, no undo"
_PATCHY = f"patchy.patch, {_EDITS} functions"

_BODY = """
def by(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)

def new(*args, **kwargs): ...
"""


class Place(NamedTuple):
    """A function of a module or of a class of it."""

    owner: Any
    name: str
    target: str


def run(rounds: int = 20) -> Result:
    """Import what an engine imports, then patch it in each way and take it back."""
    if not has_module("vllm"):
        return Result(
            _NAME, _TITLE, "ms", 0, notes=["vllm is not installed here: not measured"]
        )
    notes = list(import_engine())
    places = [*_functions(_FUNCTIONS), *_methods(_METHODS)]
    with folder() as home:
        cases = _cases(home, places)
        samples = in_turns(cases, rounds)
    found = samples.ratio(_PATCHKIT, _MOCK).median
    return Result(
        name=_NAME,
        title=_TITLE,
        unit="ms",
        rounds=rounds,
        against=[_PATCHKIT],
        lines=lines_of(samples, [_PATCHKIT], 1e3),
        aims=[Aim("165 changes take at most 125 times what mock takes", found, _LIMIT)],
        notes=[
            *notes,
            f"{len(places)} changes in {_ROWS} rows; {len(sys.modules):,} modules",
        ],
    )


def _cases(home: Path, places: list[Place]) -> dict[str, Case]:
    mixed = [_change(number, place) for number, place in enumerate(places)]
    edited = list(_editable(places, _EDITS))
    edits = [
        f"Edit({place.target!r}, old={old!r}, new={old!r} + ' + 0')"
        for place, old in edited
    ]
    cases = {
        _PATCHKIT: _session_case(home, "bench_pile", mixed),
        _PATCHKIT_EDIT: _session_case(home, "bench_edits", edits),
        _MOCK: _mock_case(places),
    }
    if has_module("wrapt"):
        cases[_WRAPT] = _wrapt_case(places)
    if has_module("patchy"):
        cases[_PATCHY] = _patchy_case(edited)
    return cases


# -- what is changed ----------------------------------------------------------------------------


def _functions(count: int) -> list[Place]:
    places = [
        Place(module, key, f"{name}:{key}")
        for name, module in _modules()
        for key, value in list(vars(module).items())
        if _is_written_in(module, value) and _is_called_by_name(value)
    ]
    return places[:: len(places) // count][:count]


def _is_called_by_name(function: FunctionType) -> bool:
    location = Location(None, function.__name__, function, own=True)
    try:
        operator_at(location, Sites(), "")
    except TargetError:
        return False  # an operator of torch, or a dispatcher, goes on calling it
    return True


def _methods(count: int) -> list[Place]:
    places = [
        Place(cls, key, f"{name}:{cls.__qualname__}.{key}")
        for name, module in _modules()
        for cls in list(vars(module).values())
        if isinstance(cls, type)
        and cls.__module__ == name
        and cls.__name__ in vars(module)
        if not is_pydantic(cls)  # which refuses a validator with any arguments
        for key, value in vars(cls).items()
        if _is_written_in(module, value)
        and value.__qualname__ == f"{cls.__qualname__}.{key}"
    ]
    return places[:: len(places) // count][:count]


def _is_written_in(module: Any, value: Any) -> bool:
    """Not what dataclasses and others generate."""
    return (
        isinstance(value, FunctionType)
        and value.__code__.co_filename == module.__file__
    )


def _modules() -> Iterator[tuple[str, Any]]:
    return (
        (name, sys.modules[name])
        for name in list(sys.modules)
        if name.startswith("vllm.")
    )


def _change(number: int, place: Place) -> str:
    """As among vllm-ascend's: one in five wraps, the others replace."""
    if number % 5 == 0:
        return f"Wrap({place.target!r}, by='by')"
    return f"Replace({place.target!r}, by='new', unrelated=True)"


def _editable(places: Iterable[Place], count: int) -> Iterator[tuple[Place, str]]:
    """Functions with a plain `return NAME` that occurs once."""
    for place in places:
        function = vars(place.owner)[place.name]
        lines = [line.strip() for line in inspect.getsource(function).splitlines()]
        returns = [line for line in lines if line.startswith("return ")]
        simple = len(returns) == 1 and returns[0].split()[-1].isidentifier()
        if count and simple and len(returns[0].split()) == 2:
            count -= 1
            yield place, returns[0]


# -- how it is changed --------------------------------------------------------------------------


def _session_case(home: Path, pack: str, changes: list[str]) -> Case:
    session = _session(home, pack, changes)
    session.arm([Role.MAIN])
    failed = [
        state.reason for state in session.states.values() if state.status != "applied"
    ]
    if failed:
        raise RuntimeError(f"{len(failed)} patches were not applied: {failed[0]}")
    session.become([])

    def work() -> None:
        session.become([Role.MAIN])
        session.become([])

    return lambda: cpu_of(work)


def _session(home: Path, pack: str, changes: list[str]) -> Session:
    place = home / pack
    place.mkdir()
    rows = min(_ROWS, len(changes))
    fields = "body='patch_it', requires=('sample>=1',), roles={Role.MAIN}"
    texts = [
        f"Patch(name='sample-{number}', {fields}, changes=({', '.join(changes[number::rows])},))"
        for number in range(rows)
    ]
    names = "Edit, Patch, Replace, Role, Wrap"
    (place / "__init__.py").write_text(
        f"from patchkit import {names}\nPATCHES = ({', '.join(texts)},)\n"
    )
    (place / "patch_it.py").write_text(_BODY)
    return session_of(pack)


def _mock_case(places: list[Place]) -> Case:
    def work() -> None:
        patches = [mock.patch.object(place.owner, place.name, _new) for place in places]
        for patch in patches:
            patch.start()
        for patch in reversed(patches):
            patch.stop()

    return lambda: cpu_of(work)


def _wrapt_case(places: list[Place]) -> Case:
    from wrapt import FunctionWrapper, wrap_object  # noqa: PLC0415 - it may not be there

    def work() -> float:
        originals = [vars(place.owner)[place.name] for place in places]
        begin = time.process_time()
        for place in places:
            wrap_object(place.owner, place.name, FunctionWrapper, (_by,))
        cost = time.process_time() - begin
        for place, original in zip(places, originals, strict=True):
            setattr(place.owner, place.name, original)
        return cost

    return work


def _patchy_case(edited: list[tuple[Place, str]]) -> Case:
    import patchy  # noqa: PLC0415 - it may not be there

    functions = [(vars(place.owner)[place.name], old) for place, old in edited]

    def work() -> None:
        for function, old in functions:
            diff = _diff(function, old)
            patchy.patch(function, diff)
            patchy.unpatch(function, diff)

    def case() -> float:
        codes = [function.__code__ for function, _ in functions]
        cost = cpu_of(work)
        for (function, _), code in zip(functions, codes, strict=True):
            function.__code__ = code  # what it leaves is not the very code from before
        return cost

    return case


def _diff(function: Callable[..., Any], old: str) -> str:
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip() == old)
    return f"@@ -{at + 1} +{at + 1} @@\n-{lines[at]}\n+{lines[at]} + 0\n"


def _by(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:  # noqa: ARG001
    return wrapped(*args, **kwargs)


def _new(*args: Any, **kwargs: Any) -> None: ...
