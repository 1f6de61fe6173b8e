"""The law of the transaction: whichever line of an apply fails, nothing upstream is changed."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from support import law_world, packages
from support.packages import World, row
from support.sampling import SAMPLES
from support.undoing import disarm

import patchkit
from patchkit import Role

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

world = packages.world

MAIN = frozenset({Role.MAIN})
SHAPE = law_world.Shape(functions=3, depth=2, users=((0, 1), (1, 2)))
CODE = Path(patchkit.__file__).parent / "runtime"
BACK = frozenset({"undo", "take", "unwind", "take_back", "restore"})
"""What runs after the first fault; a second one at the same time is another story."""
FORGIVING = frozenset({"_annotations", "code_of", "_write_current"})
"""
What upstream's annotations or a loader raise says that they tell nothing, and what the place of a
copy raises that it stays: no failure.
"""


def test_functions_that_are_left_out_are_there() -> None:
    """Each name that the law makes an exception for is that of a function of the run time."""
    code = "".join(path.read_text() for path in sorted(CODE.rglob("*.py")))
    assert all(f"def {name}(" in code for name in BACK | FORGIVING)


class Fault(Exception):
    """Somebody's error, at the worst moment."""


class Step(NamedTuple):
    """The n-th run of a line; the first is 1."""

    file: str
    line: int
    time: int


class Tracer:
    """Counts how often each line runs that makes changes, and fails at one of them.

    Args:
        at: the step that fails; none does where it is None.
    """

    def __init__(self, at: Step | None = None) -> None:
        self.seen: Counter[tuple[str, int]] = Counter()
        self.has_failed = False
        self._at = at

    @property
    def steps(self) -> list[Step]:
        """The first and the last time of every line."""
        steps: list[Step] = []
        for (file, line), last in self.seen.items():
            steps += [Step(file, line, time) for time in {1, last}]
        return steps

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Trace this thread."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if not self.has_failed and _is_traced(frame) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            line = (frame.f_code.co_filename, frame.f_lineno)
            self.seen[line] += 1
            if Step(*line, self.seen[line]) == self._at:
                self.has_failed = True
                raise Fault(str(self._at))
        return self._line


def _is_traced(frame: FrameType) -> bool:
    """Whether a fault may happen in a frame."""
    return _makes_changes(frame.f_code.co_filename) and not _is_taking_back(frame)


@functools.cache
def _makes_changes(file: str) -> bool:
    """Whether a file of patchkit makes changes or finds copies."""
    path = Path(file)
    inside = CODE in path.parents and path.relative_to(CODE).parts
    return bool(inside) and (
        inside[0] in {"changes", "copies"} or inside[-1] == "making.py"
    )


def _is_taking_back(frame: FrameType | None) -> bool:
    """Whether a frame is called, however deep, by what undoes or may fail."""
    while frame is not None:
        if (
            frame.f_code.co_name in BACK | FORGIVING
            and str(CODE) in frame.f_code.co_filename
        ):
            return True
        frame = frame.f_back
    return False


POOL = law_world.patches(SHAPE)
OF_EVERY_KIND = (
    "w1-f0",
    "r1-f2",
    "e1-f1",
    "w-l0",
    "added",
    "item",
    "class",
    "field-b",
)
CASES = {
    "Wrap": POOL["w1-f0"] + POOL["w-l1"],
    "Replace": POOL["r1-f0"] + POOL["number"] + POOL["class"],
    "Edit": POOL["e1-f1"] + POOL["e2-f1"] + POOL["e-l0"],
    "Add": POOL["added"],
    "AddField": POOL["field-b"] + POOL["field-c"],
    "item": POOL["item"],
    "AfterImport": ["AfterImport('up.base', call='after')"],
    "all": list(itertools.chain.from_iterable(POOL[name] for name in OF_EVERY_KIND)),
}
AFTER = """
def after(module):
    module.made_by_hand = 1
    def undo():
        vars(module).pop('made_by_hand', None)
    return undo
"""

STRIDE = {"few": 900, "many": 90, "all": 1}[SAMPLES]
"""Which steps fail: a sample, a larger one in `.ci/run`, or each of them by `make faults`."""


@pytest.fixture
def upstream(world: World) -> list[Any]:
    """A package, two modules that import from it by name, and their patches."""
    world.module("up.base", law_world.base_source(SHAPE))
    world.module("up.again", law_world.RE_EXPORT)
    for number, taken in enumerate(SHAPE.users):
        world.module(f"up.user{number}", law_world.user_source(taken))
    names = ("up.base", *(f"up.user{number}" for number in range(len(SHAPE.users))))
    return [importlib.import_module(name) for name in names]


@pytest.mark.parametrize("kind", CASES)
def test_a_fault_at_any_line_changes_nothing(
    world: World, upstream: list[Any], kind: str
) -> None:
    """An apply that fails at any line leaves globals, attributes, items and code as they were."""
    body = law_world.body_source(SHAPE) + AFTER
    world.pack(row("p", "patch_base", *CASES[kind]), patch_base=body)
    pristine = law_world.picture(*upstream)
    assert attempt(world, Tracer()) is None  # imports what is imported lazily
    counter = Tracer()
    assert attempt(world, counter) is None
    assert law_world.picture(*upstream) == pristine
    assert len(counter.steps) > 100
    for step in counter.steps[::STRIDE]:
        tracer = Tracer(step)
        after = attempt(world, tracer, upstream)
        assert tracer.has_failed, f"{step} was not reached"
        assert after == pristine, step


def attempt(
    world: World, tracer: Tracer, look_at: list[Any] | None = None
) -> dict[str, int] | None:
    """Apply, and return a picture of upstream right after the fault; None without a fault."""
    session = world.session()
    try:
        with tracer.on():
            session.arm(MAIN)
    except (Fault, patchkit.errors.ApplyError):
        return law_world.picture(*look_at or ())
    finally:
        disarm(session)
    return None
