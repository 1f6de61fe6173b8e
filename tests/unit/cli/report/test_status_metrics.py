"""The metrics of `patchkit status`."""

from __future__ import annotations

import socket
import subprocess
import sys
from http.client import HTTPConnection
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import packages
from support.packages import World, row

from patchkit.analysis.status.findings import KINDS, ProcessFinding
from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import (
    NEVER_CALLED,
    ChangedModule,
    ForeignValue,
    PatchStatus,
    ProcessStatus,
)
from patchkit.cli.report.status_metrics import metrics_of

world = packages.world

NOW = 1_800_000_000.0


def patch(name: str, status: str = "applied", **fields: Any) -> PatchStatus:
    """A patch of a worker."""
    return PatchStatus(name, pack="pack", status=status, roles=("worker",), **fields)


def worker(
    pid: int, *patches: PatchStatus, alive: bool | None = True, **fields: Any
) -> ProcessStatus:
    """A worker with some patches."""
    by_name = {each.name: each for each in patches}
    return ProcessStatus(
        "node", pid, roles=["worker"], patches=by_name, alive=alive, **fields
    )


def samples(*processes: ProcessStatus, **fields: Any) -> dict[str, dict[str, float]]:
    """The values of all metrics, by name and by the values of labels, sorted by label."""
    picture = Picture(list(processes), now=NOW, **fields)
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(metrics_of(picture)):
        for sample in family.samples:
            labels = " ".join(sample.labels[label] for label in sorted(sample.labels))
            found.setdefault(family.name, {})[labels] = sample.value
    return found


def test_patches_are_counted_by_process_and_by_role() -> None:
    """Each process has a count for every status, and each patch one for every role and status."""
    told = samples(
        worker(1, patch("a"), patch("b", "failed"), rank=0),
        worker(2, patch("a"), patch("b")),
    )
    assert told["patchkit_patches"] == {
        "node 1 0 worker failed": 1,
        "node 1 0 worker applied": 1,
        "node 1 0 worker skipped": 0,
        "node 1 0 worker armed": 0,
        "node 2  worker failed": 0,
        "node 2  worker applied": 2,
        "node 2  worker skipped": 0,
        "node 2  worker armed": 0,
    }
    assert told["patchkit_patch_processes"] == {
        "pack a worker applied": 2,
        "pack b worker applied": 1,
        "pack b worker failed": 1,
    }


def test_conditions_of_patches() -> None:
    """What is overwritten, drifted or never called is counted, and 0 where it is not so."""
    uncalled = {"m": ChangedModule((), (), {}, ("m:f",), {})}
    stranger = ForeignValue("m:f", "other", wraps=False, unsure=False)
    wrapper = ForeignValue("m:f", "other", wraps=True, unsure=False)
    told = samples(
        worker(
            1,
            patch("a", strangers=[stranger], unreviewed="m:f differs"),
            patch("b", modules=uncalled, effects={"m:f": NEVER_CALLED}),
        ),
        worker(2, patch("a", strangers=[wrapper]), patch("b")),
    )
    assert told["patchkit_patch_overwritten"] == {
        "pack a worker": 1,
        "pack b worker": 0,
    }
    assert told["patchkit_patch_drifted"] == {"pack a worker": 1, "pack b worker": 0}
    assert told["patchkit_patch_never_called"] == {
        "pack a worker": 0,
        "pack b worker": 1,
    }


def test_processes_that_have_ended_count_as_processes_only() -> None:
    """A pod's journals outlive its processes: what these had is told by findings alone."""
    told = samples(
        worker(1, patch("a"), alive=False, verified=NOW - 5),
        worker(2, patch("a"), verified=NOW - 2.5),
        worker(3, alive=None),
    )
    assert told["patchkit_processes"] == {
        "worker running": 1,
        "worker ended": 1,
        "worker unknown": 1,
    }
    assert told["patchkit_process_verified_age_seconds"] == {"node 2  worker": 2.5}
    assert told["patchkit_patch_processes"] == {"pack a worker applied": 1}


def test_findings_and_agreement() -> None:
    """Every kind of finding has a number, so that an alert sees it come and go."""
    found = [ProcessFinding("failed", "a"), ProcessFinding("failed", "b")]
    told = samples(agreement={"worker": False, "main": True}, findings=found)
    assert told["patchkit_findings"] == dict.fromkeys(KINDS, 0) | {"failed": 2}
    assert told["patchkit_agreement"] == {"worker": 0, "main": 1}


def test_names_with_quotes_and_lines_are_escaped() -> None:
    """A label may hold anything that a journal does."""
    told = samples(worker(1, patch('a "b"\nc\\')))
    assert told["patchkit_patch_processes"] == {'pack a "b"\nc\\ worker applied': 1}


def test_texts_that_are_no_unicode_are_escaped() -> None:
    """A damaged journal does not keep all others from being scraped."""
    told = samples(worker(1, patch("a\udc80")))
    assert told["patchkit_patch_processes"] == {"pack a\\udc80 worker applied": 1}


def test_equal_pids_of_two_containers_are_one_sample() -> None:
    """After a restart of a container, host names and pids are the same; a scrape has each once."""
    told = metrics_of(
        Picture(
            [
                worker(1, patch("a"), alive=None, started=NOW - 5, verified=NOW - 1),
                worker(1, patch("a"), alive=None, started=NOW - 90, verified=NOW - 60),
            ],
            now=NOW,
        )
    )
    lines = [line.rpartition(" ") for line in told.splitlines() if line[0] != "#"]
    names = [name for name, _, _ in lines]
    assert len(names) == len(set(names))
    values = {name: value for name, _, value in lines}
    labels = '{host="node",pid="1",rank="",role="worker"'
    assert values[f"patchkit_process_verified_age_seconds{labels}}}"] == "1.0"
    assert values[f'patchkit_patches{labels},status="applied"}}'] == "2.0"


@pytest.mark.processes
def test_metrics_are_served_anew_at_each_scrape(world: World) -> None:
    """`status --port` answers while journals are written; a port that is taken is an error."""
    world.module("up.mod", "def function(): return 'old'\n")
    replace = "Replace('up.mod:function', by='function')"
    world.pack(row("p", "patch_p", replace), patch_p="def function(): return 'new'\n")
    world.journal.mkdir(exist_ok=True)
    with socket.create_server(("", 0)) as taken:
        port = str(taken.getsockname()[1])
        argv = [sys.executable, "-m", "patchkit", "status", str(world.journal)]
        refused = subprocess.run(
            [*argv, "--port", port], capture_output=True, text=True, check=False
        )
    assert refused.returncode == 2
    assert f"--port {port}: cannot be served" in refused.stderr
    with subprocess.Popen(
        [*argv, "--port", port], stderr=subprocess.PIPE, text=True
    ) as serving:
        try:
            assert serving.stderr is not None
            assert "metrics are served at" in serving.stderr.readline()
            assert 'kind="empty"} 1.0' in scraped(port)
            (world.folder / "script.py").write_text("import patchkit.auto, up.mod\n")
            assert world.run("script.py").returncode == 0
            assert 'patchkit_processes{role="main",state="ended"} 1.0' in scraped(port)
            if has_ipv6():
                assert 'kind="empty"} 0.0' in scraped(port, "::1")
        finally:
            serving.terminate()
        # Not by the signal, which would not end the first process of a container.
        assert serving.wait(20) == 0


def has_ipv6() -> bool:
    """Whether this machine has an address of IPv6 for itself."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def scraped(port: str, host: str = "localhost") -> str:
    """What a scrape answers."""
    connection = HTTPConnection(host, int(port), timeout=20)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()
