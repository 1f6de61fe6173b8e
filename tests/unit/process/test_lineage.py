from __future__ import annotations

import os
from typing import Any

import pytest

from patchkit.process.roles import rank_given, this_process


class Worker:
    """As vLLM's workers are begun and initialised."""

    def __init__(self, rpc_rank: int = 0) -> None:
        self.rpc_rank = rpc_rank

    def begin(self, vllm_config: Any, local_rank: int, rank: int, *rest: Any) -> None: ...

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
