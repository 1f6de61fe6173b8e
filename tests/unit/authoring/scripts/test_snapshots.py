"""Snapshots of a workspace: what differs, and what is given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from authoring.scripts.workplaces import workspace_in
from patchkit.authoring.scripts.snapshots import Snapshot

if TYPE_CHECKING:
    from pathlib import Path


def test_what_differs_is_found_and_given_back(tmp_path: Path) -> None:
    """Changed, new and deleted files; a file that was written as it is does not differ."""
    workspace = workspace_in(tmp_path)
    for name in ("same", "changed", "gone"):
        (workspace.site / name).write_text("old")
    snapshot = Snapshot(workspace)
    (workspace.site / "same").unlink()
    (workspace.site / "same").write_text("old")
    (workspace.site / "changed").write_text("new")
    (workspace.site / "gone").unlink()
    (workspace.home / "new").write_text("new")
    (workspace.temporary / "scratch").write_text("new")
    (workspace.site / "x.pyc").write_text("new")
    changed = snapshot.changed()
    by_name = {path.rpartition("/")[2]: content for path, content in changed.items()}
    assert by_name == {"changed": b"new", "gone": None, "new": b"new"}
    snapshot.revert(changed)
    assert (workspace.site / "changed").read_text() == "old"
    assert (workspace.site / "gone").read_text() == "old"
    assert not (workspace.home / "new").exists()
    assert snapshot.changed() == {}


def test_what_is_accepted_differs_no_more(tmp_path: Path) -> None:
    """It is compared with from then on."""
    workspace = workspace_in(tmp_path)
    (workspace.site / "gone").write_text("old")
    snapshot = Snapshot(workspace)
    (workspace.site / "gone").unlink()
    (workspace.site / "new").write_text("1")
    snapshot.accept(snapshot.changed())
    assert snapshot.changed() == {}
    (workspace.site / "new").write_text("2")
    assert list(snapshot.changed().values()) == [b"2"]
