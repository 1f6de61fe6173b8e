"""The example packs are what docs/patch-guide.md shows, and can be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from docs.test_docs import blocks
from support.packages import REPOSITORY

import patchkit
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from patchkit.core.rows.declaration import Row

GUIDE = REPOSITORY / "examples" / "guide"
PACKS = {
    "distributed": "guide_distributed.worker",
    "platform": "guide_platform.platform",
    "engine_core": "guide_engine_core",
    "edited_vllm": "guide_edited_vllm",
}
ROLES = {
    "distributed": {"worker"},
    "platform": {"main", "engine-core"},
    "engine_core": {"engine-core"},
    "edited_vllm": {"main", "engine-core", "worker"},
}


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Row, ...]]:
    """Read the packs as they lie."""
    for folder in PACKS:
        monkeypatch.syspath_prepend(GUIDE / folder)
    return {folder: read_pack(pack) for folder, pack in PACKS.items()}


def test_the_page_shows_their_changes(rows: dict[str, tuple[Row, ...]]) -> None:
    """Each change that the page shows is one of a row, and each row has one that is shown."""
    page = REPOSITORY / "docs" / "patch-guide.md"
    names = {
        name: getattr(patchkit, name) for name in ("Add", "Edit", "Replace", "Wrap")
    }
    shown: list[Any] = []
    for block in blocks(page.read_text("utf-8"), "python"):
        exec(block, names)
        shown += names["changes"]
    made = [row.patch.changes for pack in rows.values() for row in pack]
    assert all(any(change in changes for changes in made) for change in shown)
    assert all(any(change in shown for change in changes) for changes in made)


def test_each_is_for_the_roles_that_the_page_says(
    rows: dict[str, tuple[Row, ...]],
) -> None:
    """By the name of the pack's folder, or by its rows."""
    found = {
        name: {str(role) for row in pack for role in row.roles}
        for name, pack in rows.items()
    }
    assert found == ROLES


@pytest.mark.parametrize("folder", PACKS)
def test_each_is_a_package_to_copy(folder: str) -> None:
    """It has an entry point that names its pack, a page, and a test; the guide's table links it."""
    pack = PACKS[folder]
    settings = (GUIDE / folder / "pyproject.toml").read_text()
    entry = f'[project.entry-points."patchkit.patches"]\n{pack.partition(".")[0]} = "{pack}"\n'
    assert entry in settings
    assert f'packs = ["{pack}"]' in settings
    assert list((GUIDE / folder / "tests").glob("test_*.py"))
    assert f"]({folder}/README.md)" in (GUIDE / "README.md").read_text()
