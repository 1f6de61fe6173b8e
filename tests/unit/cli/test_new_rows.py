"""The roles and the releases of a row that `patchkit new` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.new_project import new, project, world
from cli.new_samples import OLD
from patchkit.cli import main

if TYPE_CHECKING:
    import pytest

__all__ = ["project", "world"]


def test_roles_come_from_the_folder_or_by_hand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pack in `worker` needs no `--role`; for another pack an error names that option."""
    target = ["--target", "up.mod:f", "--releases", "up==1.2"]
    assert main(["new", "p", *target, "--pack", "my_pack"]) == 2
    said = capsys.readouterr().err
    assert "expected --role" in said
    assert "'patchkit probe TARGET -- COMMAND' finds out" in said
    assert main(["new", "p", *target, "--pack", "my_pack.worker"]) == 0
    assert "roles=" not in Path("my_pack/worker/__init__.py").read_text()
    assert Path("my_pack/__init__.py").read_bytes() == b""


def test_roles_come_from_the_last_probe(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without `--role` they are proposed; with it, and from a folder, what differs is said."""
    monkeypatch.setenv("PATCHKIT_JOURNAL", str(tmp_path))
    (tmp_path / "probe.json").write_text(
        '{"began": "2026-11-27", "targets": [{"target": "up.mod:f", "roles": ["worker"],'
        ' "evidence": "called"}]}'
    )
    target = ["--target", "up.mod:f", "--releases", "up==1.2"]
    assert main(["new", "p", *target, "--pack", "my_pack"]) == 0
    assert "roles={Role.WORKER}" in Path("my_pack/__init__.py").read_text()
    said = capsys.readouterr().err
    assert "roles worker: the targets ran there in the probe of 2026-11-27" in said
    for words in (["--pack", "my_pack", "--role", "main"], ["--pack", "own.platform"]):
        name = words[1].partition(".")[0].replace("_", "-")
        assert main(["new", f"q-{name}", *target, *words]) == 0
        said = capsys.readouterr().err
        assert "but the targets ran as worker in the probe of 2026-11-27" in said
    assert "roles={Role.MAIN}" in Path("my_pack/__init__.py").read_text()


def test_the_range_is_that_of_the_releases() -> None:
    """The row requires the range that is given; a tree of 0.32.1 makes it 0.32 up to 0.33."""
    assert new("one", "--target", "up.mod:C", at="up>=1, <2") == 0
    assert 'requires=("up>=1,<2",)' in Path("my_pack/__init__.py").read_text()
    Path("tree/up").mkdir(parents=True)
    Path("tree/up/__init__.py").touch()
    Path("tree/up/mod.py").write_text(OLD)
    place = ["--path", "tree", "--pack", "my_pack"]
    words = [*place, "--role", "main", "--body", "patch_two"]
    Path("tree/up/_version.py").write_text("__version__ = '0.32.1'\n")
    assert main(["new", "two", "--target", "up.mod:f", *words]) == 0
    assert 'requires=("up>=0.32,<0.33",)' in Path("my_pack/__init__.py").read_text()


def test_the_project_says_which_releases() -> None:
    """Without an option, targets are looked up in the project's releases, and rows are for them."""
    settings = '[tool.patchkit]\npacks = ["my_pack"]\nreleases = ["up>=1.0,<1.3"]\n'
    Path("pyproject.toml").write_text(settings)
    assert main(["new", "p", "--target", "up.mod:C", "--role", "main"]) == 0
    assert 'requires=("up>=1.0,<1.3",)' in Path("my_pack/__init__.py").read_text()


def test_what_is_installed_is_asked_for_by_an_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--here` looks the target up in what is installed, whatever the project says."""
    settings = '[tool.patchkit]\npacks = ["my_pack"]\nreleases = ["up>=1.0,<1.3"]\n'
    Path("pyproject.toml").write_text(settings)
    words = ["--target", "up.mod:C", "--role", "main", "--here"]
    assert main(["new", "p", *words]) == 2
    expected = "none is installed here; --releases, --path and --wheel name others"
    assert expected in capsys.readouterr().err
