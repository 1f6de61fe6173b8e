from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any

import pytest
from support.packages import module_of

from patchkit import Role
from patchkit.core.engines.entry_points import own_processes
from patchkit.core.rows.processes import ProcessTable
from patchkit.errors import PatchkitError
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

TABLE = ProcessTable(own_processes())


RAY = ["python", "/ray/_private/workers/default_worker.py", "--node"]
SPAWNED = [
    "python",
    "-c",
    "from multiprocessing.spawn import spawn_main",
    "--multiprocessing-fork",
]


def test_a_ray_worker_takes_its_role_from_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Ray worker takes its role from PATCHKIT_ROLE, and removes it for its own children."""
    monkeypatch.setattr(sys, "orig_argv", RAY)
    environ = {ROLE_VARIABLE: "worker"}
    assert initial_roles(environ, TABLE) == {Role.WORKER}
    assert environ == {}


def test_a_ray_worker_with_an_unknown_role(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown role in PATCHKIT_ROLE is a PatchkitError that lists the roles."""
    monkeypatch.setattr(sys, "orig_argv", RAY)
    with pytest.raises(PatchkitError, match=r"PATCHKIT_ROLE.*'chief'.*engine-core"):
        initial_roles({ROLE_VARIABLE: "chief"}, TABLE)


def test_a_ray_worker_without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ray worker without PATCHKIT_ROLE has no role yet, also while `sys.argv` is missing."""
    monkeypatch.setattr(sys, "orig_argv", RAY)
    monkeypatch.delattr(sys, "argv")
    assert is_ray_worker()
    assert initial_roles({}, TABLE) == frozenset()


def test_a_process_that_is_no_ray_worker_ignores_the_variable() -> None:
    """A process that inherits PATCHKIT_ROLE by accident is main, and leaves the variable."""
    environ = {ROLE_VARIABLE: "worker"}
    assert initial_roles(environ, TABLE) == {Role.MAIN}
    assert environ == {ROLE_VARIABLE: "worker"}


def test_a_spawned_child_has_no_role_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spawned child has no role until its parent tells it, in the data that it unpickles."""
    monkeypatch.setattr(sys, "orig_argv", SPAWNED)
    assert is_spawned_child()
    assert initial_roles({}, TABLE) == frozenset()


def test_any_other_process_is_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that nobody started as a worker is main, also without multiprocessing."""
    assert initial_roles({}, TABLE) == {Role.MAIN}
    monkeypatch.delitem(sys.modules, "multiprocessing.process")
    assert initial_roles({}, TABLE) == {Role.MAIN}


def test_a_child_has_the_role_of_its_process_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A child that multiprocessing has named already has the role of that name."""
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
def test_tests_decide_where_the_pytest_plugin_runs(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], decide: bool
) -> None:
    """Tests decide beside the plugin, unless `PATCHKIT=1` asks for patches."""
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
def test_tests_decide_in_processes_that_they_have_started(
    monkeypatch: pytest.MonkeyPatch, words: list[str], decide: bool
) -> None:
    """Tests decide in children that go on with their work, not in a program of its own."""
    monkeypatch.delitem(sys.modules, "patchkit.pytest_plugin", raising=False)
    monkeypatch.setattr(sys, "orig_argv", words)
    assert do_tests_decide(TESTS) is decide
    assert not do_tests_decide({})
    assert not do_tests_decide({**TESTS, "PATCHKIT": "1"})


# -- where a process belongs ----------------------------------------------------------------------


class Worker:
    """A class with the signatures of vLLM's workers."""

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
    """The rank is read from an argument by position or name; it is None where there is none."""
    worker = Worker()
    assert rank_given(worker.begin, worker, args, kwargs) == rank


def test_the_rank_of_a_weight_cache_daemon() -> None:
    """The rank of a weight cache daemon is its `global_rank`."""

    def begin(vllm_config: Any, global_rank: int, local_rank: int) -> None: ...

    assert rank_given(begin, None, ("config", 3, 1), {}) == 3


def test_the_rank_of_init_worker() -> None:
    """Of the arguments of all workers, a worker reads its own by its `rpc_rank`."""
    kwargs_of_all = [{"rank": 4}, {"rank": 7}]
    worker = Worker(1)
    assert rank_given(worker.init_worker, worker, (kwargs_of_all,), {}) == 7
    assert rank_given(worker.init_worker, Worker(2), (kwargs_of_all,), {}) is None
    assert rank_given(worker.init_worker, object(), (kwargs_of_all,), {}) is None


def test_a_process_is_named_by_host_and_pid() -> None:
    """The name of this process is its host and pid, as `patchkit status` finds it."""
    assert this_process() == f"{os.uname().nodename}:{os.getpid()}"
