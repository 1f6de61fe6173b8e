"""The example packs are what docs/project/patch-guide.md shows, and can be installed."""

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
    """The rows of each pack, by its folder."""
    for folder in PACKS:
        monkeypatch.syspath_prepend(GUIDE / folder)
    return {folder: read_pack(pack) for folder, pack in PACKS.items()}


def test_the_page_shows_the_changes_of_the_packs(
    rows: dict[str, tuple[Row, ...]],
) -> None:
    """Each change that the page shows is one of a row, and each row has one that is shown."""
    page = REPOSITORY / "docs" / "project" / "patch-guide.md"
    names = {
        name: getattr(patchkit, name) for name in ("Add", "Edit", "Replace", "Wrap")
    }
    shown: list[Any] = []
    for block in blocks(page.read_text("utf-8"), "python"):
        exec(block, names)
        shown += names["changes"]
    made = [row.patch.changes for pack in rows.values() for row in pack]
    for change in shown:
        assert any(change in changes for changes in made)
    for changes in made:
        assert any(change in shown for change in changes)


def test_each_pack_is_for_its_roles(
    rows: dict[str, tuple[Row, ...]],
) -> None:
    """The rows of a pack have the roles that are in its folder's name or on the page."""
    roles = {}
    for folder, pack in rows.items():
        roles[folder] = {str(role) for row in pack for role in row.roles}
    assert roles == ROLES


@pytest.mark.parametrize("folder", PACKS)
def test_each_pack_is_a_package_to_copy(folder: str) -> None:
    """It has an entry point that names its pack, a page, and a test; the guide's table links it."""
    pack = PACKS[folder]
    settings = (GUIDE / folder / "pyproject.toml").read_text()
    entry = f'[project.entry-points."patchkit.patches"]\n{pack.partition(".")[0]} = "{pack}"\n'
    assert entry in settings
    assert f'packs = ["{pack}"]' in settings
    assert list((GUIDE / folder / "tests").glob("test_*.py"))
    assert f"]({folder}/README.md)" in (GUIDE / "README.md").read_text()
