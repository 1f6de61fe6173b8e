from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any

import pytest
from support.packages import module_of

from patchkit import Role
from patchkit.core.rows.processes import ProcessTable
from patchkit.errors import PatchkitError
from patchkit.platform.processes import PROCESSES
from patchkit.runtime.process.roles import (
    ROLE_VARIABLE,
    TESTS_VARIABLE,
    initial_roles,
    is_ray_worker,
    is_spawned_child,
    rank_given,
    this_process,
)
from patchkit.runtime.process.roles import tests_decide as do_tests_decide

TABLE = ProcessTable(PROCESSES)


RAY = ["python", "/ray/_private/workers/default_worker.py", "--node"]
SPAWNED = [
    "python",
    "-c",
    "from multiprocessing.spawn import spawn_main",
    "--multiprocessing-fork",
]


def test_a_ray_worker_is_told_by_the_variable_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What its parent has told is believed, and does not reach further children."""
    monkeypatch.setattr(sys, "orig_argv", RAY)
    environ = {ROLE_VARIABLE: "worker"}
    assert initial_roles(environ, TABLE) == {Role.WORKER}
    assert environ == {}


def test_a_ray_worker_is_told_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    """A role that there is not is patchkit's own error, with what there is."""
    monkeypatch.setattr(sys, "orig_argv", RAY)
    with pytest.raises(PatchkitError, match=r"PATCHKIT_ROLE.*'chief'.*engine-core"):
        initial_roles({ROLE_VARIABLE: "chief"}, TABLE)


def test_a_ray_worker_that_was_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its role comes with its actor's class; `sys.argv` may not be there yet."""
    monkeypatch.setattr(sys, "orig_argv", RAY)
    monkeypatch.delattr(sys, "argv")
    assert is_ray_worker()
    assert initial_roles({}, TABLE) == frozenset()


def test_the_variable_is_for_ray_workers_only() -> None:
    """A process that inherits it by accident does not believe it, nor take it away."""
    environ = {ROLE_VARIABLE: "worker"}
    assert initial_roles(environ, TABLE) == {Role.MAIN}
    assert environ == {ROLE_VARIABLE: "worker"}


def test_a_spawned_child_has_none_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parent tells it, in the data that it unpickles first."""
    monkeypatch.setattr(sys, "orig_argv", SPAWNED)
    assert is_spawned_child()
    assert initial_roles({}, TABLE) == frozenset()


def test_anything_else_is_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a Python that has not imported multiprocessing."""
    assert initial_roles({}, TABLE) == {Role.MAIN}
    monkeypatch.delitem(sys.modules, "multiprocessing.process")
    assert initial_roles({}, TABLE) == {Role.MAIN}


def test_a_child_is_known_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where patchkit arrives late, in a process that multiprocessing has named already."""
    monkeypatch.setattr(multiprocessing.current_process(), "_config", {})
    monkeypatch.setattr(multiprocessing.current_process(), "_name", "VllmWorker-0")
    assert initial_roles({}, TABLE) == {Role.WORKER}


# -- whether tests decide --------------------------------------------------------------------------

TESTS = {TESTS_VARIABLE: "1"}


@pytest.mark.parametrize(
    ("environ", "decide"),
    [
        ({}, False),
        (TESTS, True),
        ({**TESTS, "PATCHKIT": "0"}, True),
        ({**TESTS, "PATCHKIT": "1"}, False),
        ({**TESTS, "PATCHKIT": " 1 "}, False),
    ],
)
def test_where_pytest_runs_with_the_plugin(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], decide: bool
) -> None:
    """Tests decide there, unless `PATCHKIT=1` asks for patches."""
    monkeypatch.setitem(sys.modules, "patchkit.pytest_plugin", module_of(""))
    assert do_tests_decide(environ) is decide


@pytest.mark.parametrize(
    ("words", "decide"),
    [
        (["python", "program.py"], False),
        (["python", "/ray/_private/workers/default_worker.py", "--node"], True),
        (
            [
                "python",
                "-c",
                "from multiprocessing.spawn import x",
                "--multiprocessing-fork",
            ],
            True,
        ),
        (["python", "-c", "from multiprocessing.forkserver import main; main()"], True),
        (["python", "-m", "vllm.model_executor.models.registry"], True),
    ],
)
def test_in_what_tests_have_started(
    monkeypatch: pytest.MonkeyPatch, words: list[str], decide: bool
) -> None:
    """Tests decide in what goes on with their work; a program of its own is armed as ever."""
    monkeypatch.delitem(sys.modules, "patchkit.pytest_plugin", raising=False)
    monkeypatch.setattr(sys, "orig_argv", words)
    assert do_tests_decide(TESTS) is decide
    assert not do_tests_decide({})
    assert not do_tests_decide({**TESTS, "PATCHKIT": "1"})


# -- where a process belongs ----------------------------------------------------------------------


class Worker:
    """As vLLM's workers are begun and initialised."""

    def __init__(self, rpc_rank: int = 0) -> None:
        self.rpc_rank = rpc_rank

    def begin(
        self, vllm_config: Any, local_rank: int, rank: int, *rest: Any
    ) -> None: ...

    def init_worker(self, all_kwargs: list[dict[str, Any]]) -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "rank"),
    [
        (("config", 1, 5), {}, 5),
        ((), {"vllm_config": "config", "local_rank": 1, "rank": 5}, 5),
        (("config",), {}, None),
        ((), {"unknown": 5}, None),
        (("config", 1, "five"), {}, None),
    ],
)
def test_a_rank_among_arguments(args: Any, kwargs: Any, rank: int | None) -> None:
    """By position or by name; a call that cannot be is left to fail by itself."""
    worker = Worker()
    assert rank_given(worker.begin, worker, args, kwargs) == rank


def test_the_rank_of_a_weight_cache_daemon() -> None:
    """It is given as the rank among all."""

    def begin(vllm_config: Any, global_rank: int, local_rank: int) -> None: ...

    assert rank_given(begin, None, ("config", 3, 1), {}) == 3


def test_the_rank_of_init_worker() -> None:
    """Every worker is given what all get, and picks its own."""
    every = [{"rank": 4}, {"rank": 7}]
    worker = Worker(1)
    assert rank_given(worker.init_worker, worker, (every,), {}) == 7
    assert rank_given(worker.init_worker, Worker(2), (every,), {}) is None
    assert rank_given(worker.init_worker, object(), (every,), {}) is None


def test_a_process_names_itself() -> None:
    """By host and pid, as `patchkit status` finds it."""
    assert this_process() == f"{os.uname().nodename}:{os.getpid()}"
