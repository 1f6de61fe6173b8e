"""The tree of processes that `status` prints."""

from __future__ import annotations

from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import ProcessStatus
from patchkit.cli.report.process_tree import process_tree


def test_when_a_child_began_counts_from_its_root() -> None:
    """A child's start is shown as seconds after its root's; where it is not known, as nothing."""
    root = ProcessStatus("node", 10, started=1_800_000_000.0, roles=["main"])
    late = ProcessStatus(
        "node", 11, started=1_800_000_002.5, roles=["engine-core"], parent=root
    )
    unknown = ProcessStatus("node", 12, is_reached=False, parent=root)
    started = process_tree(Picture([root, late, unknown])).columns[2]
    assert started.header == "started"
    assert [str(cell) for cell in started.cells][1:] == ["+2.5 s", ""]
