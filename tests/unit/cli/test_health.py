"""`doctor` where an installation is not what it seems: versions, edited files, packs, bodies."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from typing import TYPE_CHECKING

import pytest
from support.samples import pack_source, row_source

from cli import doctored
from patchkit import Engine, ProcessRow, Role
from patchkit.cli import main
from patchkit.cli.health import lost_names
from patchkit.core.engines.entry_points import own_engines
from patchkit.core.versions.installed import Versions
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

healthy = doctored.healthy

ROW = row_source(
    requires="('up>=1,<2',)", changes="(Wrap('up.mod:f', by='w'),)", why="'w'"
)
BODY = "def w(wrapped, instance, args, kwargs): ...\n"
PLUGIN = "installed: active in every vLLM process"


def checks(
    capsys: pytest.CaptureFixture[str], *argv: str, topic: str = ""
) -> dict[str, tuple[str, str]]:
    """Mark and message by subject, of one topic or of all."""
    capsys.readouterr()
    main(["doctor", "--format", "json", *argv])
    data = json.loads(capsys.readouterr().out)
    return {
        check["subject"]: (check["mark"], check["message"])
        for check in data["checks"]
        if topic in ("", check["topic"])
    }


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_pack: Callable[..., Path]
) -> Path:
    """A project whose pack is named in its settings, and not installed."""
    monkeypatch.chdir(tmp_path)
    folder = write_pack("corp_patches", pack_source(ROW))
    (folder / "patch_a.py").write_text(BODY)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.patchkit]\npacks = ["corp_patches"]\n'
    )
    return tmp_path


@pytest.fixture
def _plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patchkit is installed as a plugin of each engine."""
    monkeypatch.setattr(
        "patchkit.cli.ways_in._plugin_names", lambda engine: ["patchkit"]
    )


@pytest.mark.usefixtures("project", "_plugin")
def test_a_pack_that_is_not_installed_is_not_active_everywhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pack and the plugin are warnings; with PATCHKIT_PATCHES all ways in read the pack."""
    mark, message = checks(capsys)["corp_patches"]
    assert mark == "warn"
    for words in ("not installed", "patchkit run", "import patchkit.auto", "PATCHKIT_"):
        assert words in message
    assert checks(capsys)["vLLM plugin"] == (
        "warn",
        f"{PLUGIN}, but without corp_patches: not installed",
    )
    monkeypatch.setenv("PATCHKIT_PATCHES", "corp_patches")
    assert checks(capsys)["corp_patches"] == ("ok", "1 patch, from PATCHKIT_PATCHES")
    assert checks(capsys)["vLLM plugin"] == ("ok", PLUGIN)


def test_a_project_that_has_the_entry_point_needs_an_install(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that mends it is that of pip alone."""
    with (project / "pyproject.toml").open("a") as file:
        file.write('[project.entry-points."patchkit.patches"]\ncorp = "corp_patches"\n')
    assert "'pip install -e .' installs it" in checks(capsys)["corp_patches"][1]


@pytest.mark.usefixtures("_plugin")
def test_a_pack_in_this_folder_that_nothing_names_is_a_warning(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package with PATCHES is told of, with the option that reads it; its name is enough."""
    (project / "pyproject.toml").unlink()
    mark, message = checks(capsys)["corp_patches"]
    assert mark == "warn"
    assert "--patches corp_patches" in message
    assert checks(capsys)["vLLM plugin"][0] == "warn"
    assert checks(capsys, "--patches", "corp_patches")["vLLM plugin"][0] == "note"
    assert checks(capsys, "--patches", "corp_patches")["corp_patches"][0] == "ok"


def test_a_pack_that_is_read_by_another_name_is_no_warning(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    write_pack: Callable[..., Path],
) -> None:
    """With PYTHONPATH=config, `hotfix` is the file that is `config.hotfix` from this folder."""
    monkeypatch.chdir(tmp_path)
    folder = write_pack("config.hotfix", pack_source(ROW))
    (folder / "patch_a.py").write_text(BODY)
    assert checks(capsys)["config.hotfix"][0] == "warn"
    monkeypatch.syspath_prepend(str(tmp_path / "config"))
    monkeypatch.setenv("PATCHKIT_PATCHES", "hotfix")
    lines = checks(capsys)
    assert lines["hotfix"][0] == "ok"
    assert "config.hotfix" not in lines


@pytest.mark.usefixtures("project", "_plugin")
def test_only_engines_that_are_here_have_a_plugin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin for an engine that is not installed is no way in, and nothing to warn of."""
    lines = checks(capsys)
    assert lines["vLLM plugin"][0] == "warn"
    assert "SGLang plugin" not in lines
    find = Versions.find
    names = {"sglang": "click", "vllm": "not-installed-here"}
    monkeypatch.setattr(
        Versions, "find", lambda self, name: find(self, names.get(name, name))
    )
    lines = checks(capsys)
    assert "vLLM plugin" not in lines
    assert lines["SGLang plugin"][0] == "warn"


def test_a_variable_beside_another_installed_version_is_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both versions are named; a build of the same release is no contradiction."""
    installed(tmp_path, monkeypatch, "vllm", "0.32.0")
    mark, message = checks(capsys)["vllm"]
    assert mark == "warn"
    for words in ("0.12.0 (VLLM_VERSION)", "0.32.0 is installed", "unset VLLM_VERSION"):
        assert words in message
    monkeypatch.setenv("VLLM_VERSION", "0.32.0+cpu")
    assert checks(capsys)["vllm"][0] == "ok"


def test_a_version_of_patchkit_versions_counts_too(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATCHKIT_VERSIONS is compared as VLLM_VERSION is."""
    installed(project, monkeypatch, "up", "1.5")
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=1.2")
    mark, message = checks(capsys, topic="versions")["up"]
    assert (mark, "1.5 is installed" in message) == ("warn", True)


def test_edited_files_of_a_patched_distribution_are_a_warning(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are named with the command that adopts them; untouched ones are counted."""
    root = installed(project, monkeypatch, "up", "1.0")
    assert checks(capsys, topic="files")["up"] == ("ok", "2 files as installed")
    (root / "up" / "mod.py").write_text("def f(): return 'by hand'\n")
    mark, message = checks(capsys, topic="files")["up"]
    assert mark == "warn"
    assert "up/mod.py" in message
    assert "patchkit adopt --installed up" in message
    (root / "up" / "mod.py").unlink()
    assert checks(capsys, topic="files")["up"][0] == "warn"


def test_an_installation_without_hashes_is_not_compared(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable install has none: it says so, and that is no finding."""
    root = installed(project, monkeypatch, "up", "1.0", hashes=False)
    (root / "up" / "mod.py").write_text("def f(): return 'by hand'\n")
    mark, message = checks(capsys, topic="files")["up"]
    assert mark == "note"
    assert "not compared" in message


def test_a_body_with_a_syntax_error_is_bad(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`doctor` and `show` name the file and the line, `lock --check` fails."""
    (project / "corp_patches" / "patch_a.py").write_text("\ndef w(:\n")
    mark, message = checks(capsys)["a-patch"]
    assert mark == "bad"
    assert "corp_patches/patch_a.py:2" in message
    assert main(["show", "a-patch", "--format", "json"]) == 0
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert "corp_patches/patch_a.py:2" in fault
    main(["show", "a-patch"])
    assert "does not compile" in capsys.readouterr().out


def test_a_misspelled_requirement_is_bad(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`doctor`, `show` and `list` ask whether the near name was meant."""
    words = "did you mean up by upp?"
    source = pack_source(ROW.replace("up>=1,<2", "upp>=1"))
    (project / "corp_patches" / "__init__.py").write_text(source)
    sys.modules.pop("corp_patches", None)
    mark, message = checks(capsys)["a-patch"]
    assert (mark, words in message) == ("bad", True)
    for argv in (["show", "a-patch"], ["list", "--all"]):
        main([*argv, "--format", "json"])
        assert words in capsys.readouterr().out


def installed(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    version: str,
    *,
    hashes: bool = True,
) -> Path:
    """Install a distribution of two modules into a folder of the path."""
    place = root / "site"
    files = {f"{name}/__init__.py": "", f"{name}/mod.py": "def f(): ...\n"}
    lines = []
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        recorded = f"sha256={digest.decode().rstrip('=')}" if hashes else ""
        lines.append(f"{path},{recorded},{len(text)}")
    info = place / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("\n".join([*lines, ""]))
    monkeypatch.syspath_prepend(str(place))
    assert Versions.of(Settings()).find(name)
    return place


def test_names_of_an_added_engine_that_lead_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelled function of a process row or a helper is told, and a right one is not."""
    (tmp_path / "toyserve").mkdir()
    (tmp_path / "toyserve" / "__init__.py").write_text("def start(): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = (
        ProcessRow("call", "toyserve:strat", Role.MAIN),
        ProcessRow("target", "toyserve:start", Role.WORKER),
        ProcessRow("name", "Toy", Role.WORKER),
    )
    toy = Engine(
        name="ToyServe", package="toyserve", processes=rows, helper="toyserve.gone:f"
    )
    absent = Engine(name="Gone", package="gone_serve", helper="gone_serve:f")
    lines = list(lost_names([*own_engines(), toy, absent]))
    assert [(line.topic, line.mark, line.subject) for line in lines] == [
        ("engines", "warn", "ToyServe")
    ] * 2
    call, helper = [line.message for line in lines]
    assert call.startswith("process row call toyserve:strat: toyserve has no 'strat'")
    assert helper.startswith("helper toyserve.gone:f: there is no module toyserve.gone")
