"""Collects the journals and processes of all nodes of a Ray cluster, by a Ray task on each."""

import importlib
import logging
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from patchkit.analysis.status import node
from patchkit.errors import PatchkitError

_CONNECT_SECONDS = 5.0
_CLIENT = "ray://"


class RayError(PatchkitError):
    """A Ray cluster cannot be reached."""


class RayNodes:
    """A connection to a cluster, as a context manager that closes it.

    Args:
        address: `host:port` of the cluster's head, `ray://host:port`, or `auto`.
        patience: Seconds within which all nodes have to answer.

    Raises:
        RayError: Ray is not installed, or there is no cluster at the address.
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

    def look(
        self, directory: str | None, engines: Sequence[Sequence[str]] = ()
    ) -> list[dict[str, Any]]:
        """Run `node.look` on every node that is alive.

        Args:
            directory: The folder of the journals; None for the value of PATCHKIT_JOURNAL there.
            engines: How processes of each engine are recognized, as `node.look` takes it.

        Returns:
            The result of `node.look` for each node; for one that does not answer, with `error`.
        """
        pending = {}
        for ray_node in self._ray.nodes():
            if ray_node["Alive"]:
                reference = self._ask(ray_node["NodeID"], directory, engines)
                pending[reference] = ray_node
        # All nodes work at once. What is returned here is ignored: `_answer` asks for each node
        # whether it is done.
        self._ray.wait(list(pending), num_returns=len(pending), timeout=self._patience)
        return [
            self._answer(reference, ray_node) for reference, ray_node in pending.items()
        ]

    def _connect(self, address: str) -> None:
        """Connect to the cluster; RayError if that fails."""
        _check_listening(address)
        try:
            self._ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                # The tasks that run `node.look` must not write journals of their own.
                runtime_env={"env_vars": {"PATCHKIT": "0"}},
            )
        except Exception as error:
            raise RayError(f"--ray {address}: {_first_line(error)}") from error

    def _ask(
        self, node_id: str, directory: str | None, engines: Sequence[Sequence[str]]
    ) -> Any:
        """Start `node.look` as a task on a node, and return Ray's reference to its result."""
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        # Not soft: on this node, or not at all.
        strategy = strategies.NodeAffinitySchedulingStrategy(
            node_id=node_id, soft=False
        )
        # The node may have no patchkit, so the module's code is sent along.
        importlib.import_module("ray.cloudpickle").register_pickle_by_value(node)
        task = self._ray.remote(node.look)
        # Without a claim to a CPU, the task also runs where all of them are in use.
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": strategy}
        return task.options(**options).remote(directory, engines)

    def _answer(self, reference: Any, ray_node: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a task, or an `error` if it has failed or is not done yet."""
        name = ray_node.get("NodeName") or ray_node["NodeID"][:8]
        host = f"{name} ({ray_node['NodeManagerAddress']})"
        try:
            # Without waiting: `look` has waited for all nodes already.
            return dict(self._ray.get(reference, timeout=0))
        except self._ray.exceptions.GetTimeoutError:
            self._ray.cancel(reference, force=True)
            error = f"no answer within {self._patience:g} s"
        except Exception as raised:  # noqa: BLE001 - the other nodes' answers still count
            error = _first_line(raised)
        return {"host": host, "journals": {}, "processes": None, "error": error}


def _check_listening(address: str) -> None:
    """Raise RayError if nothing listens at an address: Ray itself would try for minutes."""
    if address == "auto":  # Ray finds the address itself
        return
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    if not host or not port.isdecimal():
        raise RayError(
            f"--ray: found {address!r}, expected host:port, ray://host:port or auto"
        )
    try:
        socket.create_connection(
            (host.strip("[]"), int(port)),  # an IPv6 address stands in brackets
            timeout=_CONNECT_SECONDS,
        ).close()
    except OSError as error:
        expected = "expected the address of a Ray cluster's head, host:port"
        raise RayError(
            f"--ray {address}: nobody answers there ({error}); {expected}"
        ) from error


def _first_line(error: Exception) -> str:
    """Return the class of an error, and the first line of its message that is not empty."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return f"{type(error).__name__}: {lines[0]}"
