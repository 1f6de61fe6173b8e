from __future__ import annotations

import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY
from support.samples import pack_source, row_source

from patchkit.core.engines.entry_points import (
    installed_packs,
    installed_processes,
    own_processes,
)
from patchkit.errors import EngineError, ProcessRowError
from patchkit.registry import (
    OPTIONAL_PACKS,
    OWN_PACKS,
    Registry,
    packs_for,
)
from patchkit.settings import Settings

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

_OURS = "[patchkit.patches]\n{} = {}\n"


def install(
    folder: Path, name: str, entry_points: str, suffix: str = "dist-info"
) -> None:
    """Write what an installer leaves behind of a distribution."""
    info = folder / f"{name}-1.0.{suffix}"
    info.mkdir(parents=True)
    metadata = "METADATA" if suffix == "dist-info" else "PKG-INFO"
    (info / metadata).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.mark.parametrize("suffix", ["dist-info", "egg-info"])
def test_installed_packs_are_found(tmp_path: Path, suffix: str) -> None:
    """A distribution's entry points in the group name the pack modules, in order of their names."""
    install(tmp_path, "later", _OURS.format("b", "later.patches"), suffix)
    install(tmp_path, "sooner", _OURS.format("a", "sooner.patches"), suffix)
    assert installed_packs([str(tmp_path)]) == ("sooner.patches", "later.patches")


def test_other_entry_points_are_none_of_ours(tmp_path: Path) -> None:
    """A group that only looks like ours, or a distribution without entry points, adds nothing."""
    install(tmp_path, "other", "[console_scripts]\npatchkit.patches = other:main\n")
    install(tmp_path, "more", "[patchkit.patches.more]\na = more.patches\n")
    (tmp_path / "bare-1.0.dist-info").mkdir()
    assert installed_packs([str(tmp_path)]) == ()


def test_a_malformed_file_of_others_is_passed_over(tmp_path: Path) -> None:
    """One that names a group of ours is an error, as its packs would be missed."""
    install(tmp_path, "sooner", _OURS.format("a", "sooner.patches"))
    install(tmp_path, "broken", "x = y\n[[\n")
    assert installed_packs([str(tmp_path)]) == ("sooner.patches",)
    install(tmp_path, "ours", f"[[\nx = y\n{_OURS.format('a', 'ours.patches')}")
    file = tmp_path / "ours-1.0.dist-info" / "entry_points.txt"
    file.write_bytes(file.read_bytes() + b"\xff")
    with pytest.raises(EngineError, match=r"ours-1\.0\.dist-info/entry_points\.txt"):
        installed_packs([str(tmp_path)])


def test_odd_folders_on_the_path_are_passed_over(tmp_path: Path) -> None:
    """A folder that is not there, and one that is a file, do no harm."""
    (tmp_path / "file").touch()
    install(tmp_path / "good", "mine", _OURS.format("a", "mine.patches"))
    path = [str(tmp_path / "gone"), str(tmp_path / "file"), str(tmp_path / "good")]
    assert installed_packs(path) == ("mine.patches",)


def test_the_empty_entry_is_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`''` on the path stands for the current folder, where a distribution is found."""
    install(tmp_path, "mine", _OURS.format("a", "mine.patches"))
    monkeypatch.chdir(tmp_path)
    assert installed_packs([""]) == ("mine.patches",)


def test_a_pack_installed_in_a_zip_is_found(tmp_path: Path) -> None:
    """A distribution in a zip on the path is found like one in a folder."""
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("mine-1.0.dist-info/METADATA", "Name: mine\nVersion: 1.0\n")
        file.writestr(
            "mine-1.0.dist-info/entry_points.txt", _OURS.format("a", "mine.patches")
        )
    assert installed_packs([str(archive)]) == ("mine.patches",)


def test_packs_are_named_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Own packs come first, then installed ones, PATCHKIT_PATCHES, and those given."""
    monkeypatch.setattr("patchkit.registry.installed_packs", lambda: ("installed",))
    settings = Settings(packs=("set", "installed"))
    assert packs_for(settings, ("given", "set")) == (
        *OWN_PACKS,
        "installed",
        "set",
        "given",
    )


def test_an_installed_packs_rows_are_collected(
    write_pack: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an installed distribution names is read like any pack, without further settings."""
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ())
    write_pack("mine.patches", pack_source(row_source(name="'from-mine'")))
    install(tmp_path, "mine", _OURS.format("a", "mine.patches"))
    assert "from-mine" in Registry.collect(Settings())


@pytest.mark.processes
def test_metadata_is_imported_only_where_there_is_something_to_find(
    tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """A start without installed packs does not pay for importlib.metadata."""
    code = (
        "import sys; from patchkit.core.engines.entry_points import installed_packs; "
        f"print(installed_packs([{str(tmp_path)!r}]), 'importlib.metadata' in sys.modules)"
    )
    assert python("-c", code).stdout == "() False\n"
    install(tmp_path, "mine", _OURS.format("a", "mine.patches"))
    assert python("-c", code).stdout == "('mine.patches',) True\n"


# -- processes -------------------------------------------------------------------------------------

_PROCESSES = "[patchkit.processes]\n{} = {}\n"


def tell(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Install a distribution that tells of its processes."""
    install(folder, "stages", _PROCESSES.format("mine", "stages_of_mine"))
    (folder / "stages_of_mine.py").write_text(
        f"from patchkit import ProcessRow, Role\n{source}"
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "stages_of_mine", raising=False)


def test_an_installed_package_tells_of_its_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a package's processes come after patchkit's own, and give a process its role."""
    tell(
        tmp_path,
        monkeypatch,
        "PROCESSES = (ProcessRow('name', 'Stage-', Role.WORKER),)",
    )
    *own, mine = installed_processes()
    assert tuple(own) == own_processes()
    assert Registry.collect(Settings()).processes.by_prefix("name", "Stage-3") is mine


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "PROCESSES = (ProcessRow('name', '', Role.WORKER),)",
            r"PROCESSES\[0\]\.what: found ''",
        ),
        ("ROWS = ()", r"found 'stages_of_mine' \(AttributeError: .*PROCESSES"),
        (
            "raise SystemExit(3)",
            r"found 'stages_of_mine' \(SystemExit: 3\), expected a module",
        ),
    ],
)
def test_a_bad_entry_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    """It names the distribution, the entry point, what was found and what was expected."""
    tell(tmp_path, monkeypatch, source)
    where = r"^distribution stages, entry point 'mine' of patchkit\.processes"
    with pytest.raises(ProcessRowError, match=f"{where}.*{message}"):
        installed_processes()


def test_only_the_registry_names_the_packs() -> None:
    """No other module imports a pack by a string, which import-linter could not see."""
    package = REPOSITORY / "patchkit"
    packs = (*OWN_PACKS, *OPTIONAL_PACKS)
    folders = {name.rpartition(".")[2] for name in packs}
    naming = []
    for file in package.rglob("*.py"):
        path = file.relative_to(package)
        if path.parts[0] in folders:
            continue
        source = file.read_text()
        if any(name in source for name in packs):
            naming.append(path.as_posix())
    assert naming == ["registry.py"]
