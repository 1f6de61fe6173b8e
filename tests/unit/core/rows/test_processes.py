from __future__ import annotations

import functools
import multiprocessing
from types import SimpleNamespace
from typing import Any

import pytest
from support.packages import module_of
from support.samples import row

from patchkit import Replace, Role
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.processes import ProcessRow, ProcessTable, target_of
from patchkit.core.rows.rules import check_processes
from patchkit.errors import ProcessRowError
from patchkit.platform.processes import PROCESSES as OWN

TABLE = ProcessTable(OWN)


def upstream_function(where: str) -> Any:
    """A function that says it is upstream's."""
    module, _, qualname = where.partition(":")
    function = module_of("def f(): ...").f
    function.__module__, function.__qualname__ = module, qualname
    return function


def process(target: Any = None, name: str = "Process-1") -> Any:
    return multiprocessing.Process(target=target, name=name)


def role_of(process: Any) -> Role | None:
    found = TABLE.of_process(process)
    return found.role if found else None


def own(by: str) -> list[Any]:
    """The rows of one way to know a process, for a test of each."""
    return [pytest.param(one, id=one.what) for one in OWN if one.by == by]


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
    """The names of vLLM and vllm-omni tell; others do not."""
    found = TABLE.beginning("name", name)
    assert (found.role if found else None) is role
    assert role_of(process(name=name)) is role


@pytest.mark.parametrize("one", own("target"))
def test_a_process_is_known_by_its_target(one: ProcessRow) -> None:
    """The function that it runs tells, also inside partials."""
    function = upstream_function(one.what)
    assert TABLE.of_process(process(function)) is one
    inside = functools.partial(functools.partial(function, 1), 2)
    assert TABLE.of_process(process(inside)) is one


def test_the_target_is_worth_more_than_the_name() -> None:
    """What a process runs is what it is; the name stands in where the target is a stranger's."""
    worker = upstream_function(
        "vllm.v1.executor.multiproc_executor:WorkerProc.worker_main"
    )
    assert role_of(process(worker, name="EngineCore")) is Role.WORKER
    assert role_of(process(print, name="EngineCore")) is Role.ENGINE_CORE
    assert role_of(process(print)) is None


def test_a_target_that_answers_to_every_name() -> None:
    """A target with a `func` of its own for ever (a mock) is looked at once."""

    class Echo:
        @property
        def func(self) -> Any:
            return self

        def __call__(self) -> None: ...

    assert role_of(process(Echo())) is None


def test_a_process_without_anything() -> None:
    """A process class of a stranger's may lack what multiprocessing's has; its class names it."""
    assert role_of(SimpleNamespace()) is None
    assert target_of(SimpleNamespace()) == "types:SimpleNamespace"


@pytest.mark.parametrize("one", own("actor"))
def test_an_actor_is_known_by_its_class(one: ProcessRow) -> None:
    """Its class, or one that it derives from, is among those of the table."""
    module, _, name = one.what.partition(":")
    cls = type(name, (), {"__module__": module})
    assert TABLE.of_actor(cls) is one
    assert TABLE.of_actor(type("Derived", (cls,), {})) is one
    assert TABLE.of_actor(type(name, (), {"__module__": "elsewhere"})) is None


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["python", "-m", "vllm.snapshot.server", "--", "--port"], True),
        (["python", "-u", "-m", "vllm.snapshot.server"], True),
        (["python", "/a/b/moriio_heartbeat.py", "-m"], True),
        (["python", "serve.py", "-m", "vllm.snapshot.server"], False),
        (["python", "-m"], False),
        (["python"], False),
        ([], False),
    ],
)
def test_a_process_is_known_by_its_command(words: list[str], known: bool) -> None:
    """Python's module or script tells; what that is given does not."""
    assert (TABLE.of_command(words) is not None) is known


def test_every_role_can_be_entered() -> None:
    """No role is without a call that begins it."""
    assert {one.role for one in TABLE.all("call")} == {*Role, None}


def test_the_longer_of_two_names_wins() -> None:
    """Another package's processes may be called like vLLM's, and more."""
    mine = ProcessRow("name", "EngineCoreTrainer", Role.WORKER)
    assert ProcessTable([*OWN, mine]).beginning("name", "EngineCoreTrainer-1") is mine


def test_patchkits_own_rows_are_well_formed() -> None:
    """They keep the rules for those of others."""
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
        (ProcessRow("name", "Stage", "chief"), ".role", "'chief'", "None or a Role"),  # type: ignore[arg-type]
        (
            ProcessRow("name", "Stage", None),
            ".why",
            "''",
            "the reason why it has no role",
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
    with pytest.raises(ProcessRowError) as caught:
        check_processes(
            "distribution x", (given,) if isinstance(given, ProcessRow) else given, OWN
        )
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
    """As vLLM reads it: a number other than 0."""
    environ = {} if value is None else {"VLLM_USE_RUST_FRONTEND": value}
    assert bool(list(TABLE.switched_on(environ))) is on


def test_patches_that_have_no_process_beside_a_rust_frontend() -> None:
    """Those for main in what it replaces; what the Python process goes on to run stays."""
    (rust,) = TABLE.all("switch")
    targets = {
        "chat": "vllm.entrypoints.openai.chat_completion.serving:f",
        "parser": "vllm.tool_parsers:f",
        "launcher": "vllm.entrypoints.cli.serve:f",
        "engine": "vllm.v1.engine.core:f",
        "near": "vllm.tool_parsers_more:f",
    }
    rows = [row(name, changes=(Replace(to, by="f"),)) for name, to in targets.items()]
    worker = Row("pack", rows[0].patch, frozenset({Role.WORKER}))
    assert rust.leaves_out([*rows, worker]) == ["chat", "parser"]
