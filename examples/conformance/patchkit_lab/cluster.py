"""A Ray cluster of one node, with simulated NPUs or none, that belongs to whoever started it."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit_lab import processes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HOST = "127.0.0.1"
KERNEL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
# Ray takes some from 10,000 to 24,000 by itself.
LOWEST_PORT = 24_000
# Ports that Ray would otherwise take from a fixed list, which another Ray may hold already.
SERVICES = (
    "ray-client-server-port",
    "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port",
    "runtime-env-agent-port",
    "metrics-export-port",
)
# Ray refuses objects where the disk is 95% full, whoever filled it.
ANY_DISK = {"RAY_local_fs_capacity_threshold": "1"}


class ClusterError(Exception):
    """Ray did not start; a client would wait for it for ever."""


@dataclass(frozen=True)
class Cluster:
    """A running Ray.

    Args:
        address: `host:port` of its head.
        directory: its temporary directory, with its logs.
    """

    address: str
    directory: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to reach it."""
        return {"RAY_ADDRESS": self.address, "RAY_AUTH_MODE": "disabled"}

    def pids(self) -> set[int]:
        """Every process of the cluster."""
        return processes.marked(str(self.directory))

    def worker_logs(self) -> str:
        """What its workers wrote on stderr."""
        found = sorted(self.directory.glob("session_latest/logs/worker-*.err"))
        return "\n".join(path.read_text(errors="replace") for path in found)


@contextlib.contextmanager
def started(
    python: Path,
    env: Mapping[str, str],
    npus: int = 2,
    *,
    prefix: Sequence[str] = (),
    more: Sequence[str] = (),
) -> Iterator[Cluster]:
    """Start Ray with an environment's Python; stop its processes, and only those, at the end.

    A prefix goes before the command line of `ray start`, and more after it.

    Raises:
        ClusterError: `ray start` failed.
    """
    # Short: a Unix socket's path may have 107 characters, and Ray appends some 60.
    directory = Path(tempfile.mkdtemp(prefix="lab-", dir="/tmp"))
    cluster = Cluster(f"{HOST}:{free_ports(1)[0]}", directory)
    try:
        start(cluster, [*prefix, *command(cluster, python, npus), *more], env)
        yield cluster
    finally:
        processes.end(cluster.pids())
        shutil.rmtree(directory, ignore_errors=True)


def start(cluster: Cluster, words: Sequence[str], env: Mapping[str, str]) -> None:
    """Run `ray start` and check that it did."""
    marks = {"LAB_CLUSTER": str(cluster.directory), **ANY_DISK}
    full = processes.environment(env, cluster.environment, marks)
    # The client's variable; a head that finds it joins that cluster instead of starting its own.
    del full["RAY_ADDRESS"]
    log = cluster.directory / "start.log"
    # What it starts is meant to stay; `started` ends that.
    outcome = processes.run(words, full, 600, log, leave=True)
    if outcome.status != 0:
        raise ClusterError(f"ray start {outcome.tail()}")


def command(cluster: Cluster, python: Path, npus: int) -> list[str]:
    """The command line of `ray start`."""
    options = {
        "port": cluster.address.rpartition(":")[2],
        "num-cpus": "4",
        **({"resources": f'{{"NPU": {npus}}}'} if npus else {}),
        "object-store-memory": "200000000",
        "temp-dir": str(cluster.directory),
        "include-dashboard": "false",
        # Any free port instead of the next of a fixed range.
        "min-worker-port": "0",
        "max-worker-port": "0",
        **dict(zip(SERVICES, map(str, free_ports(len(SERVICES))), strict=True)),
    }
    program = str(python.with_name("ray"))
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [program, "start", "--head", "--disable-usage-stats", *flags]


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on, now and when they are used in a minute.

    The kernel gives its own range to whoever asks for any port, such as another Ray beside this
    one, and to every connection. These are below it, and drawn at random as others may look, too.
    """
    first_given = int(KERNEL_PORTS.read_text().split()[0])
    ports = range(LOWEST_PORT, max(first_given, LOWEST_PORT + 5000))
    free = list[int]()
    with contextlib.ExitStack() as stack:
        for port in random.sample(ports, len(ports)):
            if len(free) == count:
                break
            listener = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind((HOST, port))
                free.append(port)
    return free
