from __future__ import annotations

import socket
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from patchkit.analysis.status.ray_nodes import RayError, RayNodes


class GetTimeoutError(Exception):
    """What Ray raises if there is no answer in time."""


class Ray:
    """A cluster of nodes that answer, fail, or do nothing."""

    exceptions = SimpleNamespace(GetTimeoutError=GetTimeoutError)

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.log: list[Any] = []

    def init(self, **options: Any) -> None:
        self.log.append(options)

    def shutdown(self) -> None:
        self.log.append("shutdown")

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "NodeID": name,
                "Alive": answer != "dead",
                "NodeManagerAddress": f"10.0.0.{name}",
            }
            for name, answer in self.answers.items()
        ]

    def remote(self, function: Any) -> Any:
        ray = self

        class Task:
            def options(self, **options: Any) -> Any:
                ray.log.append(options)
                node = options["scheduling_strategy"]["node_id"]
                return SimpleNamespace(remote=lambda directory, _: (node, directory))

        return Task()

    def wait(self, asked: list[Any], **options: Any) -> None:
        self.log.append(options)

    def get(self, reference: Any, timeout: float) -> Any:
        answer = self.answers[reference[0]]
        if isinstance(answer, Exception):
            raise answer
        return {"host": reference[0], "directory": reference[1]}

    def cancel(self, reference: Any, force: bool) -> None:
        self.log.append(("cancelled", reference[0]))


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    """A cluster of four nodes: one answers, one is silent, one fails, one is dead."""
    fake = Ray(n1=None, n2=GetTimeoutError(), n3=ValueError("first\nsecond"), n4="dead")
    strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=dict)
    pickles = SimpleNamespace(register_pickle_by_value=lambda module: None)
    for name, module in {
        "ray": fake,
        "ray.util": ModuleType("ray.util"),
        "ray.util.scheduling_strategies": strategies,
        "ray.cloudpickle": pickles,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake


def test_every_node_that_is_alive_is_asked(ray: Ray) -> None:
    """A node that does not answer in time, or fails, has an error; the others answer."""
    with RayNodes("auto", patience=3) as nodes:
        good, silent, failing = nodes.look("/journal")
    assert good == {"host": "n1", "directory": "/journal"}
    assert (silent["host"], silent["error"]) == (
        "n2 (10.0.0.n2)",
        "no answer within 3 s",
    )
    assert failing["error"] == "ValueError: first"
    assert ("cancelled", "n2") in ray.log
    assert ray.log[-1] == "shutdown"


def test_a_look_takes_no_cpu_and_is_not_patched(ray: Ray) -> None:
    """Tasks that look ask for no CPU, and run with `PATCHKIT=0` on the node that they are for."""
    with RayNodes("auto") as nodes:
        nodes.look(None)
    init_options, *task_options, wait_options, _, _ = ray.log
    assert init_options["runtime_env"] == {"env_vars": {"PATCHKIT": "0"}}
    assert [options["num_cpus"] for options in task_options] == [0, 0, 0]
    assert [options["scheduling_strategy"] for options in task_options] == [
        {"node_id": name, "soft": False} for name in ("n1", "n2", "n3")
    ]
    assert wait_options == {"num_returns": 3, "timeout": 30.0}


def test_without_ray_there_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """If Ray cannot be imported, the error says that `--ray` needs it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RayError, match="--ray needs Ray in this Python"):
        RayNodes("auto")


def test_an_address_where_nobody_answers(ray: Ray) -> None:
    """An address where nobody answers is an error at once: Ray itself would try for minutes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(RayError, match="nobody answers there"):
            RayNodes(address)
    assert ray.log == []


@pytest.mark.parametrize("address", ["", "head", "head:", "head:x", ":6379"])
def test_what_is_no_address_is_refused(ray: Ray, address: str) -> None:
    """A text that is no address is an error that says what one looks like."""
    with pytest.raises(RayError, match="expected host:port"):
        RayNodes(address)


def test_what_ray_raises_becomes_one_line(
    ray: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line of what `ray.init` raises is the message, with the address."""

    def refuse(**options: Any) -> None:
        raise RuntimeError("version mismatch\nlong story")

    monkeypatch.setattr(ray, "init", refuse, raising=False)
    with pytest.raises(RayError, match=r"^--ray auto: RuntimeError: version mismatch$"):
        RayNodes("auto")
