"""Two nodes on one machine, as far apart as a kernel can put them, and the Ray cluster of both.

Each node has namespaces of its own: network (one cable between the two, and nothing else), host
name, processes, shared memory and mounts, so that one path is another folder on each. The nodes
are gone, with all that ran on them, when the process that holds them ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit_lab import processes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = [REPOSITORY / "examples" / name for name in ("simnpu", "conformance")]
CABLE = "eth0"
PORT = 6379
# A user who is not root is it in a user namespace, where the kernel allows that.
_ROOTLESS = os.geteuid() != 0
_SPACES = ("--net", "--uts", "--ipc", "--pid", "--mount")
_ENTER = ("nsenter", *(("--user", "--preserve-credentials") if _ROOTLESS else ()))
# Nobody waits for Ray's processes once `ray start` has ended: with SIGCHLD ignored none needs to.
_HOLD = """
trap '' CHLD
mount --bind "$1" "$2" && mount -t tmpfs none /dev/shm && hostname "$3" && ip link set lo up &&
touch "$1/up" && exec sleep infinity
"""


class NodesError(Exception):
    """A node or its Ray did not start."""


@dataclass(frozen=True)
class Node:
    """One node.

    Args:
        name: its host name.
        address: on the cable.
        directory: what the node sees as `here`.
        here: a folder that is another one on each node.
        pid: of the process that holds it.
    """

    name: str
    address: str
    directory: Path
    here: Path
    pid: int

    @property
    def environment(self) -> dict[str, str]:
        """What vLLM and gloo must be told where a machine has several addresses, or no route."""
        return {
            "VLLM_HOST_IP": self.address,
            "GLOO_SOCKET_IFNAME": CABLE,
            "PATCHKIT_JOURNAL": str(self.here / "journal"),
            "RAY_AUTH_MODE": "disabled",
        }

    def command(self, *words: str) -> list[str]:
        """Run a command on the node; not from here, as Ray puts a driver's folder on the path."""
        spaces = ("--target", str(self.pid), *_SPACES, f"--wd={self.here}")
        return [*_ENTER, *spaces, "--", *words]

    def run(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        *,
        leave: bool = False,
    ) -> processes.Outcome:
        """Run a command on the node, for two minutes at most."""
        full = processes.environment(env, self.environment)
        return processes.run(self.command(*words), full, 600, log, leave=leave)

    @property
    def journal(self) -> Path:
        """Its journals, as seen from outside."""
        return self.directory / "journal"


@contextlib.contextmanager
def two() -> Iterator[tuple[Node, Node]]:
    """Make two nodes with a cable between them.

    Raises:
        NodesError: the kernel gives none.
    """
    # Short: a Unix socket's path may have 107 characters, and Ray appends some 60.
    directory = Path(tempfile.mkdtemp(prefix="nodes-", dir="/tmp"))
    (directory / "here").mkdir()
    try:
        with (
            _held(directory, "node-a") as one,
            _held(directory, "node-b", one) as other,
        ):
            pair = (
                _node(directory, "node-a", 1, one),
                _node(directory, "node-b", 2, other),
            )
            _connect(*pair)
            yield pair
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _held(directory: Path, name: str, first: int | None = None) -> Iterator[int]:
    """Hold a node's namespaces with a process that does nothing; yield its pid."""
    own = directory / name
    own.mkdir()
    script = ("sh", "-c", _HOLD, "sh", str(own), str(directory / "here"), name)
    unshare = (*_unshare(first), *_SPACES, "--fork", "--mount-proc", "--kill-child")
    with (own / "hold.log").open("wb") as log:
        holder = subprocess.Popen((*unshare, *script), stdout=log, stderr=log)
    try:
        _await(own / "up", holder)
        yield int(
            Path(f"/proc/{holder.pid}/task/{holder.pid}/children")
            .read_text()
            .split()[0]
        )
    finally:
        # The first process of a process namespace takes all others with it.
        holder.kill()
        holder.wait()


def _unshare(first: int | None) -> tuple[str, ...]:
    """Who lays the cable must be root in both nodes, so both share a user namespace."""
    if not _ROOTLESS:
        return ("unshare",)
    if first is None:
        return ("unshare", "--map-root-user")
    return (*_ENTER, "--target", str(first), "--", "unshare")


def _await(
    sign: Path, holder: subprocess.Popen[bytes], patience: float = 100.0
) -> None:
    deadline = time.monotonic() + patience
    while not sign.exists():
        if holder.poll() is not None or time.monotonic() > deadline:
            raise NodesError(
                f"no namespaces here: {(sign.parent / 'hold.log').read_text()}"
            )
        time.sleep(0.02)


def _node(directory: Path, name: str, number: int, pid: int) -> Node:
    return Node(name, f"10.42.0.{number}", directory / name, directory / "here", pid)


def _connect(one: Node, other: Node) -> None:
    """Lay the cable; it never lies in this process's own network."""
    peer = ("peer", "name", CABLE, "netns", str(other.pid))
    # Not on the node: there the other's process has no number.
    enter = [*_ENTER, "--target", str(one.pid), "--net", "--"]
    _check([*enter, "ip", "link", "add", CABLE, "type", "veth", *peer])
    for node in (one, other):
        _check(node.command("ip", "address", "add", f"{node.address}/24", "dev", CABLE))
        _check(node.command("ip", "link", "set", CABLE, "up"))


def _check(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False
    )
    if done.returncode != 0:
        raise NodesError(
            f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}"
        )


# -- environments ------------------------------------------------------------------------------


def layered(python: Path, directory: Path, *folders: Path) -> Path:
    """Make an environment that shares another's vLLM, torch and Ray, but none of its `.pth` files.

    So the other's editable installations (patchkit among them) are not there.

    Args:
        python: the other's.
        directory: where to make it.
        folders: put on its path before the other's packages.

    Returns:
        its Python.
    """
    venv.create(directory, symlinks=True)
    shared = python.parents[1] / "lib"
    (packages,) = shared.glob("python3.*/site-packages")
    (own,) = (directory / "lib").glob("python3.*/site-packages")
    path = [*folders, packages, *EXAMPLES]
    (own / "shared.pth").write_text("".join(f"{folder}\n" for folder in path))
    return directory / "bin" / "python"


def install_bootstrap(python: Path) -> None:
    """Run `patchkit bootstrap install`, as a user does on every node."""
    done = processes.run(
        [str(python), "-m", "patchkit", "bootstrap", "install"],
        processes.environment({}),
        60,
        python.parents[1] / "bootstrap.log",
    )
    if done.status != 0:
        raise NodesError(f"bootstrap install {done.tail()}")


# -- Ray ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def cluster_of_two(
    pythons: tuple[Path, Path],
    envs: tuple[Mapping[str, str], Mapping[str, str]],
    logs: Path,
) -> Iterator[tuple[Node, Node]]:
    """Make two nodes, and a Ray of both with one simulated NPU each; the first is its head.

    Raises:
        NodesError: one of them does not start.
    """
    with two() as pair:
        for node, python, env in zip(pair, pythons, envs, strict=True):
            words = [str(python), *ray_start(node, pair[0])]
            outcome = node.run(words, env, logs / f"ray-{node.name}.log", leave=True)
            if outcome.status != 0:
                raise NodesError(f"ray start on {node.name} {outcome.tail()}")
        yield pair


def ray_start(node: Node, head: Node) -> list[str]:
    """What `python` is given for a `ray start` on a node."""
    options = {
        "node-ip-address": node.address,
        "num-cpus": "2",
        "resources": '{"NPU": 1}',
        "object-store-memory": "100000000",
    }
    kind = []
    if node is head:
        kind = ["--head", "--include-dashboard=false"]
        options |= {"port": str(PORT), "temp-dir": str(node.here / "ray")}
    else:
        options |= {"address": ray_address(head)}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [
        "-m",
        "ray.scripts.scripts",
        "start",
        "--disable-usage-stats",
        *kind,
        *flags,
    ]


def ray_address(head: Node) -> str:
    """Where a client finds the cluster."""
    return f"{head.address}:{PORT}"
