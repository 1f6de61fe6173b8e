"""One engine across two nodes: patched on both, or an error that names the node.

The nodes share the kernel and vLLM's files, and nothing else: `nodes.py` says how. Every test
makes its own two environments, nodes and Ray.

Takes about 3 min.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import nodes
import pytest
from patchkit_lab import scenario

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchkit_lab import processes

    from patchkit.analysis.status import ProcessStatus

PACK = "cluster_patches"
PATCH = "nodes-share-no-memory"
BACKEND = "device-backend-after-torch"
CARRIER = "ray-actors-carry-patchkit"
# vLLM on a CPU takes ranks that share a port's number for ranks that share memory, and fails when
# they are on two nodes. So nothing is generated here unless the workers on both are patched.
ROWS = f"""
from patchkit import Patch, Replace

CPU = "vllm.distributed.device_communicators.cpu_communicator:CpuCommunicator"
PATCHES = (
    Patch(
        name="{PATCH}", body="patch_cpu_communicator", requires=("vllm>=0.11",), roles={{"worker"}},
        changes=(Replace(f"{{CPU}}._all_group_ranks_share_shm_group_name", by="no"),),
    ),
)
"""
BODY = "def no(self):\n    return False\n"
ARMED = {"PATCHKIT": "1", "PATCHKIT_PATCHES": PACK}
ENV = {**scenario.MACHINE, **scenario.BACKEND, **ARMED}
# vLLM says so when a worker is about to meet the others.
MEETING = "distributed_init_method=tcp://"


class Two:
    """The environments of two nodes; the first one's is complete."""

    def __init__(self, python: Path, model: Path, directory: Path) -> None:
        self._python = python
        self._model = model
        self._directory = directory
        self.first = self.environment("first", BODY)
        nodes.install_bootstrap(self.first)

    def environment(
        self, name: str, body: str, *, has_patchkit: bool = True, pack: str = PACK
    ) -> Path:
        """Make an environment with the pack in it, and with no bootstrap yet."""
        place = self._directory / name
        package = place / "packs" / pack
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(ROWS)
        (package / "patch_cpu_communicator.py").write_text(body)
        folders = [package.parent, *([nodes.REPOSITORY] if has_patchkit else [])]
        return nodes.layered(self._python, place / "env", *folders)

    @contextlib.contextmanager
    def cluster(self, second: Path, **settings: str) -> Iterator[Cluster]:
        """Start both nodes; the settings are in the second one's environment."""
        envs = ENV, {**ENV, **settings}
        with nodes.cluster_of_two((self.first, second), envs, self._directory) as pair:
            yield Cluster(self.first, self._model, pair, self._directory)


class Cluster:
    """Two nodes that run; everything is asked from the first."""

    def __init__(
        self, python: Path, model: Path, pair: tuple[nodes.Node, nodes.Node], logs: Path
    ) -> None:
        self._python = python
        self._model = model
        self.one, self.other = pair
        self._logs = logs
        self._env = {**ENV, "RAY_ADDRESS": nodes.ray_address(self.one)}

    def generate(self) -> processes.Outcome:
        """Run the generating script with two ranks; nothing in it knows of patchkit."""
        script = [str(scenario.HERE / "generate.py"), str(self._model), *scenario.RAY]
        return self.one.run(
            [str(self._python), *script], self._env, self._logs / "engine.log"
        )

    def status(self) -> dict[str, Any]:
        """Run `patchkit status --ray`."""
        words = ["-m", "patchkit", "status", "--ray", nodes.ray_address(self.one)]
        words = [str(self._python), *words, "--format", "json"]
        outcome = self.one.run(words, self._env, self._logs / "status.log")
        start = outcome.output.find("{")
        assert start >= 0, outcome.tail()
        found: dict[str, Any] = json.JSONDecoder().raw_decode(outcome.output[start:])[0]
        return found


@pytest.fixture
def two(python: Path, model: Path, tmp_path: Path) -> Two:
    """What both nodes are made from."""
    return Two(python, model, tmp_path)


def workers(node: nodes.Node) -> list[ProcessStatus]:
    """The workers that kept a journal on a node."""
    return [
        process
        for process in read_directory(node.journal)
        if process.roles == ["worker"]
    ]


def applied(process: ProcessStatus) -> set[str]:
    """The patches that are in a process."""
    return {
        name for name, patch in process.patches.items() if patch.status == "applied"
    }


def assert_patched_on_both(cluster: Cluster, baseline: list[int]) -> None:
    """The baseline's tokens, from one worker on each node, with the same patches in both."""
    outcome = cluster.generate()
    report = scenario.report(outcome)
    assert report.tokens == baseline
    assert MEETING in outcome.output
    (here,), (there,) = workers(cluster.one), workers(cluster.other)
    assert [here.host, there.host] == ["node-a", "node-b"]
    assert sorted(worker.pid for worker in report.workers) == sorted(
        [here.pid, there.pid]
    )
    assert applied(here) == applied(there) == {PATCH, BACKEND, CARRIER}


def test_with_the_bootstrap_on_both_nodes_both_are_patched(
    two: Two, baseline: list[int]
) -> None:
    """PATCHKIT=1 in both nodes' environments is all; `status --ray` sees both."""
    second = two.environment("second", BODY)
    nodes.install_bootstrap(second)
    with two.cluster(second) as cluster:
        assert_patched_on_both(cluster, baseline)
        # What Ray itself runs there was armed when its Python started.
        assert len(read_directory(cluster.other.journal)) > 1
        status = cluster.status()
    seen = [one["host"] for one in status["processes"] if one["roles"] == ["worker"]]
    assert sorted(seen) == ["node-a", "node-b"]
    assert status["agreement"]["worker"] is True


@pytest.mark.every_cell
def test_without_a_bootstrap_the_actors_class_brings_patchkit(
    two: Two, baseline: list[int]
) -> None:
    """A node where patchkit is only installed is patched all the same.

    Ray sends the class of vLLM's actor by value, and patchkit's carrier comes with it; so the
    worker is the only process there that is armed.
    """
    with two.cluster(two.environment("second", BODY)) as cluster:
        assert_patched_on_both(cluster, baseline)
        assert len(read_directory(cluster.other.journal)) == 1


def test_a_node_without_patchkit_stops_the_run_and_is_named(two: Two) -> None:
    """The driver's output says which node lacks patchkit, not what failed for want of it."""
    second = two.environment("second", BODY, has_patchkit=False)
    with two.cluster(second) as cluster:
        outcome = cluster.generate()
    assert outcome.status not in (0, None), outcome.tail()
    assert f"on node node-b {second} has no patchkit" in outcome.output, outcome.tail()
    assert "Install vllm-patchkit there." in outcome.output
    assert scenario.error_line(outcome) is None, outcome.tail()


@pytest.mark.every_cell
def test_a_node_without_the_pack_stops_the_run_and_is_named(two: Two) -> None:
    """What keeps patchkit from arming a worker there is what the driver's output says."""
    with two.cluster(two.environment("second", BODY, pack="another_pack")) as cluster:
        outcome = cluster.generate()
    assert outcome.status not in (0, None), outcome.tail()
    assert "(patchkit on node node-b) DeclarationError: " in outcome.output, (
        outcome.tail()
    )
    assert f"pack {PACK}" in outcome.output
    assert scenario.error_line(outcome) is None, outcome.tail()


def test_a_node_with_other_patches_stops_the_run_before_the_ranks_meet(
    two: Two,
) -> None:
    """Another body and a patch less: the error names both sets and the node."""
    second = two.environment("second", BODY + "# another release of the pack\n")
    nodes.install_bootstrap(second)
    with two.cluster(second, PATCHKIT_DISABLE=BACKEND) as cluster:
        outcome = cluster.generate()
        journals = "".join(
            path.read_text() for path in cluster.other.journal.glob("*.jsonl")
        )
    assert outcome.status not in (0, None), outcome.tail()
    (line, *_) = [
        text for text in outcome.output.splitlines() if "AgreementError: " in text
    ]
    assert "on node node-b" in line
    assert f"{BACKEND} only in the main process; {PATCH} has other code here" in line
    assert (
        f"selects {BACKEND}, {CARRIER}, {PATCH} for worker; here it is {CARRIER}, {PATCH}."
        in line
    )
    assert MEETING not in outcome.output
    assert '"event":"disagreement"' in journals
