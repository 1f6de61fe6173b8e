"""Look at every node of a Ray cluster, by running there on Ray itself."""

import importlib
import logging
import socket
from collections.abc import Mapping
from typing import Any

from patchkit.analysis.status import node
from patchkit.errors import PatchkitError

_CONNECT_SECONDS = 5.0
_CLIENT = "ray://"


class RayError(PatchkitError):
    """A Ray cluster that cannot be asked."""


class RayNodes:
    """A connection to a cluster, ended by its context. All nodes answer within `patience` seconds.

    Raises:
        RayError: there is no Ray here, or none at the address.
    """

    def __init__(self, address: str, patience: float = 30.0) -> None:
        self._patience = patience
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise RayError(
                f"--ray needs Ray in this Python, and it cannot be imported: {error}. "
                "Run patchkit where Ray is, on any node of the cluster."
            ) from error
        self._connect(address)

    def __enter__(self) -> "RayNodes":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def look(self, directory: str | None) -> list[dict[str, Any]]:
        """Look at every node that is alive; one that does not answer has `error` instead."""
        nodes = [there for there in self._ray.nodes() if there["Alive"]]
        asked = {self._ask(there["NodeID"], directory): there for there in nodes}
        self._ray.wait(list(asked), num_returns=len(asked), timeout=self._patience)
        return [self._answer(reference, there) for reference, there in asked.items()]

    def _connect(self, address: str) -> None:
        _refuse_silence(address)
        try:
            self._ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                # Who looks must not write a journal of its own.
                runtime_env={"env_vars": {"PATCHKIT": "0"}},
            )
        except Exception as error:
            raise RayError(f"--ray {address}: {_first_line(error)}") from error

    def _ask(self, node_id: str, directory: str | None) -> Any:
        name = "ray.util.scheduling_strategies"
        affinity = importlib.import_module(name).NodeAffinitySchedulingStrategy
        there = affinity(node_id=node_id, soft=False)
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": there}
        importlib.import_module("ray.cloudpickle").register_pickle_by_value(node)
        return self._ray.remote(node.look).options(**options).remote(directory)

    def _answer(self, reference: Any, there: Mapping[str, Any]) -> dict[str, Any]:
        host = f"{there.get('NodeName') or there['NodeID'][:8]} ({there['NodeManagerAddress']})"
        try:
            return dict(self._ray.get(reference, timeout=0))
        except self._ray.exceptions.GetTimeoutError:
            self._ray.cancel(reference, force=True)
            error = f"no answer within {self._patience:g} s"
        except Exception as raised:  # noqa: BLE001 - whatever it is, the other nodes answer
            error = _first_line(raised)
        return {"host": host, "journals": {}, "processes": None, "error": error}


def _refuse_silence(address: str) -> None:
    """Ray itself tries for minutes where nobody listens."""
    if address == "auto":
        return
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    if not (host and port.isdecimal()):
        raise RayError(f"--ray: found {address!r}, expected host:port, ray://host:port or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        expected = "expected the address of a Ray cluster's head, host:port"
        raise RayError(f"--ray {address}: nobody answers there ({error}); {expected}") from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
