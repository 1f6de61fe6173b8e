"""The first and the last release of each range of patchkit's rows, as upstream's releases say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.packages import REPOSITORY

from patchkit.analysis.check.packages import allows
from patchkit.core.versions.requirements import canonical, parse_requirement
from patchkit.registry import OWN_PACKS, read_pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.core.rows.declaration import Row

DATA = REPOSITORY / "tests" / "unit" / "data"
PACKS = (*OWN_PACKS, "patchkit.data_llm")
EVER = "0.5.0"
NEWEST = "0.33.0"
"""Of vLLM: the oldest release that rows are for, and the newest that was looked at."""
V0_ENDS = "0.11.0.post2"
V1_RETURNS = "0.11.1"
V1_ENDS = "0.32.0"
"""The actor's class leaves `vllm.executor` for `vllm.v1.executor`, and is gone in 0.33."""
V2_BEGINS = "0.20.0"
"""The first release with `vllm.v1.executor.ray_executor_v2`."""
DAG = "2.35.0"
"""The oldest Ray for which V1's compiled graph is made to work."""
EDGES = {
    "cpu-platform-on-ray": {"vllm": ("0.24.0", NEWEST), "ray": (DAG, "2.60.0")},
    "device-backend-after-torch": {"vllm": (EVER, NEWEST)},
    "ray-worker-torch-npu": {"vllm": (V1_RETURNS, V1_ENDS)},
    "ray-worker-early-v1-torch-npu": {"vllm": ("0.6.6", "0.6.6.post1")},
    "ray-worker-v2-torch-npu": {"vllm": (V2_BEGINS, NEWEST)},
    "ray-worker-v0-torch-npu": {"vllm": (EVER, V0_ENDS)},
    "ray-actors-carry-patchkit": {"ray": ("2.9.0", "2.60.0")},
    "ray-v1-version-check": {"vllm": ("0.8.0", V1_ENDS), "ray": (DAG, "2.42.1")},
    "ray-v1-version-check-adag": {"vllm": ("0.7.0", "0.7.3"), "ray": (DAG, "2.39.0")},
    "ray-v1-pipeline-communicator": {
        "vllm": ("0.10.1", V1_ENDS),
        "ray": (DAG, "2.47.1"),
    },
    "ray-v1-overlap-keyword": {"vllm": ("0.7.0", V1_ENDS), "ray": (DAG, "2.38.0")},
    "ray-v1-list-of-references": {"vllm": ("0.7.0", V1_ENDS), "ray": (DAG, "2.36.1")},
    "ray-v1-time-outs": {"vllm": ("0.8.2", V1_ENDS), "ray": (DAG, "2.40.0")},
    "ray-v1-tensor-transport": {"vllm": ("0.8.0", V1_ENDS), "ray": (DAG, "2.41.0")},
    "weight-cache-knows-patches": {"vllm": ("0.33.0", NEWEST)},
    "ray-data-async-rows": {"ray": (DAG, "2.44.1")},
    "ray-data-llm": {"ray": (DAG, "2.42.1")},
    "ray-data-llm-old-name": {"ray": ("2.56.0", "2.60.0")},
}
CHANGES = {
    ("cpu-platform-on-ray", 5): V1_ENDS,
    ("cpu-platform-on-ray", 6): V1_ENDS,
    **{(f"ray-v1-{name}", 1): V1_RETURNS for name in ("version-check", "time-outs")},
    **{(f"ray-v1-{name}", 2): V0_ENDS for name in ("version-check", "time-outs")},
    ("ray-v1-pipeline-communicator", 1): V1_RETURNS,
    ("ray-v1-pipeline-communicator", 2): V0_ENDS,
}
"""Of changes with a bound of their own: the release of vLLM at it, which is inside."""


def rows() -> list[Row]:
    """All rows of patchkit's packs."""
    return [row for pack in PACKS for row in read_pack(pack)]


def edges(text: str) -> tuple[str, str]:
    """The first and the last release that a requirement allows."""
    name = canonical(parse_requirement(text).name)
    released = (DATA / f"versions_{name}.txt").read_text().split()
    inside = [release for release in released if allows([text], name, release)]
    return inside[0], inside[-1]


def bounded(texts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name and edges of each requirement that has bounds."""
    for text in texts:
        if parse_requirement(text).specifier:
            yield canonical(parse_requirement(text).name), edges(text)


def test_every_range_begins_and_ends_where_upstream_does() -> None:
    """Each row's ranges have the first and the last release that EDGES has for it."""
    assert {row.name: dict(bounded(row.patch.requires)) for row in rows()} == EDGES


def test_every_change_begins_or_ends_where_upstream_does() -> None:
    """A change with a bound of its own begins or ends at the release that CHANGES has for it."""
    changes = {}
    for row in rows():
        for number, change in enumerate(row.patch.changes, start=1):
            for text in change.requires:
                first, last = edges(text)
                changes[row.name, number] = last if "<" in text else first
    assert changes == CHANGES
