"""CPU time of one call of a replaced, edited or wrapped function and method."""

from __future__ import annotations

import functools
import importlib
import time
import timeit
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Case, Samples, in_turns
from benchmarks.results import Aim, Line, Result, lines_of
from benchmarks.samples import folder, has_module
from benchmarks.sessions import session_of
from patchkit.core.rows.declaration import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import ModuleType

PLAIN = "plain"
CLOSURE = "closure, *args, **kwargs"
_EXACT = "closure, same signature"
_BINDING = "closure, self bound"
_REPLACE = "Replace"
_EDIT = "Edit"
_WRAP = "Wrap"
_WRAPT = "wrapt.FunctionWrapper"
_LOOP = "empty loop"
_CALLS = 20_000

_NAMES = {
    PLAIN: "plain",
    _REPLACE: "replaced",
    _EDIT: "edited",
    _EXACT: "exact",
    CLOSURE: "closure",
    _BINDING: "binding",
    _WRAP: "wrapped",
    _WRAPT: "proxied",
}
_CALL = {"function": "{}(1, 2)", "method": "sample.{}(1, 2)"}

_DEFINITIONS = "".join(
    f"def {name}(one, two=0):\n    return one\n" for name in _NAMES.values()
)
_METHODS = "".join(
    f"    def {name}(self, one, two=0):\n        return one\n"
    for name in _NAMES.values()
)
_UPSTREAM = f"{_DEFINITIONS}\nclass Sample:\n{_METHODS}\nsample = Sample()\n"
BODY = """
def replacement(one, two=0):
    return one

def method(self, one, two=0):
    return one

def around(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)
"""
_PACK = """
from patchkit import Edit, Patch, Replace, Role, Wrap

PATCHES = (
    Patch(
        name="sample-calls",
        body="patch_sample",
        requires=("sample>=1",),
        roles={Role.MAIN},
        changes=(
            Replace("sample_upstream:replaced", by="replacement"),
            Replace("sample_upstream:Sample.replaced", by="method"),
            Edit("sample_upstream:edited", old="return one", new="return (one)"),
            Edit("sample_upstream:Sample.edited", old="return one", new="return (one)"),
            Wrap("sample_upstream:wrapped", by="around"),
            Wrap("sample_upstream:Sample.wrapped", by="around"),
        ),
    ),
)
"""


def run(rounds: int = 150) -> Result:
    """Call the same function, and method, as patchkit and as others leave it."""
    with folder() as place:
        upstream = _upstream(place)
    samples = {kind: _measure(upstream, kind, rounds) for kind in _CALL}
    against = [PLAIN, CLOSURE]
    return Result(
        name="calls",
        title="One call: CPU time beyond an empty loop",
        unit="ns",
        rounds=rounds,
        against=against,
        lines=[
            line for kind in samples for line in _lines(kind, samples[kind], against)
        ],
        aims=[aim for kind in samples for aim in _aims(kind, samples[kind])],
        notes=_notes(samples),
    )


def _notes(samples: Mapping[str, Samples]) -> list[str]:
    bound = samples["method"].ratio(_WRAP, _BINDING).median
    notes = [
        "a closure is a function with functools.wraps that calls the original",
        f"a wrapped method against a `{_BINDING}`: ×{bound:.3f}",  # noqa: RUF001
    ]
    return (
        notes
        if has_module("wrapt")
        else [*notes, "wrapt is not installed: nothing beside it"]
    )


def _upstream(place: Path) -> ModuleType:
    """The generated module, patched by a session and, beside it, by the other means."""
    pack = place / "sample_pack"
    pack.mkdir()
    (pack / "__init__.py").write_text(_PACK)
    (pack / "patch_sample.py").write_text(BODY)
    (place / "sample_upstream.py").write_text(_UPSTREAM)
    session_of("sample_pack").arm([Role.MAIN])
    upstream: Any = importlib.import_module("sample_upstream")
    assert upstream.wrapped.__wrapped__, "the session has not applied the patch"
    for owner, exact in ((upstream, _exact), (upstream.Sample, _exact_method)):
        owner.exact = exact(owner.exact)
        owner.closure = _closure(owner.closure)
        owner.binding = _binding(owner.binding)
        if has_module("wrapt"):
            owner.proxied = _proxied(owner.proxied)
    return upstream  # type: ignore[no-any-return]


def _measure(upstream: ModuleType, kind: str, rounds: int) -> Samples:
    left_out = {
        _BINDING: kind == "function",  # it has nothing to bind
        _WRAPT: not has_module("wrapt"),
    }
    cases: dict[str, Case] = {_LOOP: _timed("pass", upstream)}
    for case, name in _NAMES.items():
        if not left_out.get(case):
            cases[case] = _timed(_CALL[kind].format(name), upstream)
    return in_turns(cases, rounds).above(_LOOP)


def _timed(statement: str, upstream: ModuleType) -> Case:
    timer = timeit.Timer(statement, timer=time.process_time, globals=vars(upstream))
    return lambda: timer.timeit(_CALLS) / _CALLS


def _lines(kind: str, samples: Samples, against: list[str]) -> list[Line]:
    lines = lines_of(samples, against, 1e9)
    return [Line(f"{kind}: {line.case}", line.cost, line.ratios) for line in lines]


def _aims(kind: str, samples: Samples) -> list[Aim]:
    replaced = samples.ratio(_REPLACE, PLAIN).median
    edited = samples.ratio(_EDIT, PLAIN).median
    wrapped = samples.ratio(_WRAP, CLOSURE).median
    return [
        Aim(f"an edited {kind} costs what a plain one does", edited, 1.05),
        Aim(f"a replaced {kind} costs what a plain one does", replaced, 1.05),
        Aim(
            f"a wrapped {kind} costs 4/3 of a `*args, **kwargs` closure at most",
            wrapped,
            4 / 3,
        ),
    ]


# -- what one would write by hand ---------------------------------------------------------------


def _exact(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def exact(one: Any, two: Any = 0) -> Any:
        return function(one, two)

    return exact


def _exact_method(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def exact(self: Any, one: Any, two: Any = 0) -> Any:
        return function(self, one, two)

    return exact


def _closure(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def closure(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return closure


def _binding(function: Callable[..., Any]) -> Callable[..., Any]:
    """As a closure has to be that hands the bound method on, which is what Wrap promises."""
    bind = function.__get__

    @functools.wraps(function)
    def binding(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return bind(self)(*args, **kwargs)

    return binding


def _proxied(function: Callable[..., Any]) -> Any:
    from wrapt import FunctionWrapper  # noqa: PLC0415 - it may not be there

    def around(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:  # noqa: ARG001
        return wrapped(*args, **kwargs)

    return FunctionWrapper(function, around)
