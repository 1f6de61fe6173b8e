from __future__ import annotations

import functools
import multiprocessing
from types import SimpleNamespace
from typing import Any

import pytest
from support.packages import module_of
from support.samples import row

from patchkit import Replace, Role
from patchkit.core.engines.entry_points import own_processes
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.processes import (
    ProcessRow,
    ProcessTable,
    check_processes,
    target_of,
)
from patchkit.errors import ProcessRowError

OWN = own_processes()
TABLE = ProcessTable(OWN)


def upstream_function(where: str) -> Any:
    """A function that says it is upstream's."""
    module, _, qualname = where.partition(":")
    function = module_of("def f(): ...").f
    function.__module__, function.__qualname__ = module, qualname
    return function


def process(target: Any = None, name: str = "Process-1") -> Any:
    """A process of `multiprocessing` that is not started."""
    return multiprocessing.Process(target=target, name=name)


def role_of(process: Any) -> Role | None:
    """The role of the row that knows a process."""
    process_row = TABLE.of_process(process)
    return process_row.role if process_row else None


def own(by: str) -> list[Any]:
    """The rows of one way to know a process, for a test of each."""
    process_rows = [process_row for process_row in OWN if process_row.by == by]
    return [
        pytest.param(process_row, id=process_row.what) for process_row in process_rows
    ]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("EngineCore", Role.ENGINE_CORE),
        ("EngineCore_0", Role.ENGINE_CORE),
        ("EngineCore_DP3", Role.ENGINE_CORE),
        ("StageEngineCoreProc_stage1_replica0", Role.ENGINE_CORE),
        ("VllmWorker-7", Role.WORKER),
        ("vllm-weight-cache-target-0", Role.WORKER),
        ("ApiServer_0", Role.MAIN),
        ("VLLM_DP_Coordinator", Role.MAIN),
        ("Process-1", None),
        ("MyEngineCore", None),
        ("", None),
    ],
)
def test_a_process_is_known_by_its_name(name: str, role: Role | None) -> None:
    """A process with a name of vLLM's or vllm-omni's has its role; any other has none."""
    process_row = TABLE.by_prefix("name", name)
    assert (process_row.role if process_row else None) is role
    assert role_of(process(name=name)) is role


@pytest.mark.parametrize("process_row", own("target"))
def test_a_process_is_known_by_its_target(process_row: ProcessRow) -> None:
    """A process is known by the function that it runs, also inside partials."""
    function = upstream_function(process_row.what)
    assert TABLE.of_process(process(function)) is process_row
    inside = functools.partial(functools.partial(function, 1), 2)
    assert TABLE.of_process(process(inside)) is process_row


def test_a_process_class_is_known_by_the_nearest_base_with_a_row() -> None:
    """A row may name a class of processes; one that derives from it is known by it, too."""
    base: Any = type("Serves", (multiprocessing.Process,), {"__module__": "up.procs"})
    table = ProcessTable([ProcessRow("target", "up.procs:Serves", Role.WORKER)])
    derived = type("Serves", (base,), {"__module__": "mine"})
    for cls in (base, derived):
        row = table.of_process(cls())
        assert row is not None
        assert row.role is Role.WORKER
    assert table.of_process(multiprocessing.Process()) is None
    assert table.of_process(derived(target=print)) is None


def test_the_target_is_worth_more_than_the_name() -> None:
    """What a process runs is what it is; the name stands in where the target is a stranger's."""
    worker = upstream_function(
        "vllm.v1.executor.multiproc_executor:WorkerProc.worker_main"
    )
    assert role_of(process(worker, name="EngineCore")) is Role.WORKER
    assert role_of(process(print, name="EngineCore")) is Role.ENGINE_CORE
    assert role_of(process(print)) is None


def test_a_target_that_has_a_func_of_its_own_for_ever() -> None:
    """A target whose `func` is itself, such as a mock, is looked at once."""

    class Echo:
        @property
        def func(self) -> Any:
            return self

        def __call__(self) -> None: ...

    assert role_of(process(Echo())) is None


def test_a_process_without_name_or_target() -> None:
    """A process that lacks multiprocessing's attributes has no role, and is named by its class."""
    assert role_of(SimpleNamespace()) is None
    assert target_of(SimpleNamespace()) == "types:SimpleNamespace"


@pytest.mark.parametrize("process_row", own("actor"))
def test_an_actor_is_known_by_its_class(process_row: ProcessRow) -> None:
    """An actor is known by its class, or one that it derives from, in the right module."""
    module, _, name = process_row.what.partition(":")
    cls = type(name, (), {"__module__": module})
    assert TABLE.of_actor(cls) is process_row
    assert TABLE.of_actor(type("Derived", (cls,), {})) is process_row
    assert TABLE.of_actor(type(name, (), {"__module__": "elsewhere"})) is None


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["python", "-m", "vllm.snapshot.server", "--", "--port"], True),
        (["python", "-u", "-m", "vllm.snapshot.server"], True),
        (["python", "-X", "dev", "-m", "vllm.snapshot.server"], True),
        (["python", "-W", "ignore", "-um", "vllm.snapshot.server"], True),
        (["python", "-mvllm.snapshot.server"], True),
        (["python", "-X", "dev", "/a/b/moriio_heartbeat.py"], True),
        (["python", "-c", "vllm.snapshot.server"], False),
        (["python", "/a/b/moriio_heartbeat.py", "-m"], True),
        (["python", "serve.py", "-m", "vllm.snapshot.server"], False),
        (["python", "-m"], False),
        (["python"], False),
        ([], False),
    ],
)
def test_a_process_is_known_by_its_command(words: list[str], known: bool) -> None:
    """A command is known by Python's module or script, not by what that is given."""
    assert (TABLE.of_command(words) is not None) is known


def test_every_role_can_be_entered() -> None:
    """Every role, and none, has a row with a call that enters it."""
    entered = [process_row.roles for process_row in TABLE.all("call")]
    assert frozenset().union(*entered) == frozenset(Role)
    assert frozenset() in entered


def test_the_longer_of_two_names_wins() -> None:
    """A process whose name begins like two rows' is known by the row with the longer name."""
    mine = ProcessRow("name", "EngineCoreTrainer", Role.WORKER)
    assert ProcessTable([*OWN, mine]).by_prefix("name", "EngineCoreTrainer-1") is mine


def test_patchkits_own_rows_are_well_formed() -> None:
    """Patchkit's own rows keep the rules for the rows of other packages."""
    assert check_processes("patchkit", OWN, ()) == OWN


@pytest.mark.parametrize(
    ("given", "place", "found", "expected"),
    [
        (None, "", "None", "a ProcessRow"),
        ((3,), "", "3", "a ProcessRow"),
        (
            ProcessRow("pid", "x", Role.MAIN),
            ".by",
            "'pid'",
            "one of target, actor, call, name",
        ),
        (
            ProcessRow("target", "pkg.mod", Role.MAIN),
            ".what",
            "'pkg.mod'",
            "'module:qualname'",
        ),
        (ProcessRow("name", "", Role.MAIN), ".what", "''", "a string"),
        (
            ProcessRow("name", "Stage", "chief"),
            ".role",
            "'chief'",
            "None, a Role, or a tuple of them",
        ),  # type: ignore[arg-type]
        (
            ProcessRow("name", "Stage", None),
            ".why",
            "''",
            "the reason why it has no role",
        ),
        (
            ProcessRow("name", "Stage", Role.MAIN, why=5),  # type: ignore[arg-type]
            ".why",
            "5",
            "a string",
        ),
        (
            ProcessRow("name", "Stage", Role.MAIN, instead_of="vllm"),
            ".instead_of",
            "'vllm'",
            "a tuple of modules",
        ),
        (
            ProcessRow("name", "Stage", Role.MAIN, instead_of=(5,)),  # type: ignore[arg-type]
            ".instead_of",
            "(5,)",
            "a tuple of modules",
        ),
        (
            ProcessRow("name", "EngineCore", Role.MAIN),
            ".what",
            "another row has",
            "another",
        ),
    ],
)
def test_a_malformed_row_is_refused(
    given: Any, place: str, found: str, expected: str
) -> None:
    """One error names the entry, the field, what was found and what was expected."""
    rows = (given,) if isinstance(given, ProcessRow) else given
    with pytest.raises(ProcessRowError) as caught:
        check_processes("distribution x", rows, OWN)
    text = str(caught.value)
    assert text.startswith(f"distribution x, PROCESSES[0]{place}: found ")
    assert found in text
    assert expected in text.partition("expected")[2]


def test_two_rows_of_one_package_may_not_be_the_same() -> None:
    """A row that says the same as one before it is refused by its own number."""
    twice = (ProcessRow("name", "Stage", Role.WORKER),) * 2
    with pytest.raises(ProcessRowError, match=r"PROCESSES\[1\]\.what"):
        check_processes("x", twice, OWN)


@pytest.mark.parametrize(
    ("value", "on"),
    [("1", True), ("", False), ("0", False), (" 0 ", False), (None, False)],
)
def test_a_variable_switches_a_frontend_on(value: str | None, on: bool) -> None:
    """The Rust frontend is on where its variable is a number other than 0, as vLLM reads it."""
    environ = {} if value is None else {"VLLM_USE_RUST_FRONTEND": value}
    assert bool(list(TABLE.switched_on(environ))) is on


def test_patches_that_have_no_process_beside_a_rust_frontend() -> None:
    """The frontend leaves out main's patches in what it replaces, and no others."""
    (rust,) = TABLE.all("switch")
    targets = {
        "chat": "vllm.entrypoints.openai.chat_completion.serving:f",
        "parser": "vllm.tool_parsers:f",
        "launcher": "vllm.entrypoints.cli.serve:f",
        "engine": "vllm.v1.engine.core:f",
        "near": "vllm.tool_parsers_more:f",
    }
    rows = [
        row(name, changes=(Replace(target, by="f"),))
        for name, target in targets.items()
    ]
    worker = Row("pack", rows[0].patch, frozenset({Role.WORKER}))
    assert rust.leaves_out([*rows, worker]) == ["chat", "parser"]
