"""`patchkit fit` of a package that uses several upstreams."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import find_only_in
from support.packages import world

from cli.shelves import write_wheel
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.packages import World

__all__ = ["world"]

Fitted = tuple[int, dict[str, Any], str]


@pytest.fixture
def fitted(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Fitted]:
    """Releases of three distributions, and a package that uses two of them."""
    monkeypatch.chdir(world.folder)
    find_only_in(monkeypatch, ".")
    write_wheel(world.folder, "up-1.0", "up", "def old(): ...")
    write_wheel(world.folder, "up-2.0", "up", "def new(): ...")
    write_wheel(world.folder, "up_down-7.0", "down", "def f(): ...")
    write_wheel(world.folder, "other-3.0", "other", "")
    theirs = world.folder / "theirs"
    theirs.mkdir()
    (theirs / "__init__.py").write_text(
        "from up.mod import old\nfrom down.mod import g\n"
    )

    def fit(*words: str) -> Fitted:
        code = main(["fit", "theirs", "--format", "json", *words])
        printed = capsys.readouterr()
        data = json.loads(printed.out) if printed.out else {}
        return code, data, printed.err

    return fit


def _verdicts(data: dict[str, Any]) -> dict[str, bool]:
    return {entry["release"]: entry["fits"] for entry in data["releases"]}


def test_each_upstream_is_looked_up_in_its_own_releases(
    fitted: Callable[..., Fitted],
) -> None:
    """Without `--of`, the releases say whose names are looked up, whatever their distribution."""
    code, data, _ = fitted("--releases", "up", "--releases", "up-down")
    assert code == 1
    assert _verdicts(data) == {"up 1.0": True, "up 2.0": False, "up-down 7.0": False}
    assert {use["name"] for use in data["uses"]} == {"up.mod:old", "down.mod:g"}


def test_the_releases_of_a_project_may_be_of_several_upstreams(
    fitted: Callable[..., Fitted], world: World
) -> None:
    """`[tool.patchkit]` names them; `--of` chooses among them."""
    file = world.folder / "pyproject.toml"
    file.write_text('[tool.patchkit]\nreleases = ["up>=2", "up-down"]\n')
    _, data, _ = fitted()
    assert _verdicts(data) == {"up 2.0": False, "up-down 7.0": False}
    _, data, _ = fitted("--of", "up")
    assert _verdicts(data) == {"up 2.0": False}
    _, data, _ = fitted("--of", "up-down", "--of", "up")
    assert len(_verdicts(data)) == 2
    file.write_text('[tool.patchkit]\nreleases = ["up>=2"]\n')
    _, data, _ = fitted("--of", "up-down")
    assert _verdicts(data) == {"up-down 7.0": False}


def test_modules_that_the_package_brings_along_are_there(
    world: World, capsys: pytest.CaptureFixture[str], fitted: Callable[..., Fitted]
) -> None:
    """A wheel may have files below upstream's package: these are in no release, and not gone."""
    wheel = world.folder / "mine-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as files:
        text = "from up.extra import helper\nimport up.extra.deep\nfrom up.mod import new\n"
        files.writestr("mine/__init__.py", text)
        files.writestr("up/extra/__init__.py", "def helper(): ...\n")
        files.writestr("up/extra/deep.py", "")
        files.writestr("mine-1.0.dist-info/METADATA", "Name: mine\nVersion: 1.0\n")
    assert main(["fit", str(wheel), "--releases", "up", "--format", "concise"]) == 1
    found = capsys.readouterr().out
    assert "up.mod:new" in found
    assert "up.extra" not in found


def test_all_releases_of_each_that_is_named(fitted: Callable[..., Fitted]) -> None:
    """`--of` alone takes all releases of the distribution."""
    _, data, _ = fitted("--of", "up", "--of", "up-down")
    assert _verdicts(data) == {"up 1.0": True, "up 2.0": False, "up-down 7.0": False}


def test_an_upstream_that_is_not_used_fits_nothing(
    fitted: Callable[..., Fitted],
) -> None:
    """Its releases are no releases that the package fits, and a line says so."""
    _, data, told = fitted("--releases", "up", "--releases", "other")
    assert _verdicts(data) == {"up 1.0": True, "up 2.0": False}
    assert "theirs uses nothing of other, so its releases are left out" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--releases", "other"), "theirs does not use other"),
        (("--of", "up", "--releases", "other"), "the releases are of other, expected"),
    ],
)
def test_nothing_to_look_up_is_wrong_use(
    fitted: Callable[..., Fitted], words: tuple[str, ...], message: str
) -> None:
    """A package that uses none of the releases' names does not fit them all."""
    code, _, told = fitted(*words)
    assert code == 2
    assert message in told


def test_files_that_cannot_be_parsed_are_told(
    fitted: Callable[..., Fitted], world: World
) -> None:
    """What they use is not known; also where nothing else uses upstream."""
    (world.folder / "theirs" / "old.py").write_text("import up.mod\nprint 'a'\n")
    _, data, err = fitted("--releases", "up")
    assert [entry["file"] for entry in data["unread"]] == ["theirs/old.py"]
    assert "the uses of 1 file are not known: theirs/old.py (this Python" in err
    _, again, _ = fitted("--releases", "up")
    assert again["unread"] == data["unread"]
    (world.folder / "theirs" / "__init__.py").write_text("")
    code, _, err = fitted("--releases", "up")
    assert code == 2
    assert "theirs/old.py" in err


def test_what_is_set_in_none_of_the_releases_is_told(
    fitted: Callable[..., Fitted], world: World
) -> None:
    """It may be new, or removed before; what one of them has is a finding or nothing."""
    (world.folder / "theirs" / "patches.py").write_text(
        "import up.mod\nup.mod.nothing = 1\nup.mod.new = 2\nup.mod.old = 3\n"
    )
    _, data, err = fitted("--releases", "up")
    assert data["set_nowhere"] == ["up.mod:nothing"]
    assert "has 1 name that it sets, new or removed before: up.mod:nothing" in err
    _, data, _ = fitted("--releases", "up==2.0")
    assert data["set_nowhere"] == ["up.mod:nothing", "up.mod:old"]
