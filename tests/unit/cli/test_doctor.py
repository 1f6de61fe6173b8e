from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.samples import pack_source, row_source

from cli import doctored
from patchkit.cli import main
from patchkit.cli.ways_in import SITECUSTOMIZE_FOLDER, ways_in
from patchkit.core.versions.installed import Versions
from patchkit.runtime.bootstrap.install import install

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from patchkit.cli.report.here import HealthLine

world = packages.world
healthy = doctored.healthy


def findings(
    capsys: pytest.CaptureFixture[str], *argv: str
) -> list[tuple[str, str, str]]:
    """Return mark, subject and message of each finding; check the exit code on the way."""
    code = main(["doctor", "--format", "json", *argv])
    data = json.loads(capsys.readouterr().out)
    warnings = [
        (check["mark"], check["subject"], check["message"])
        for check in data["checks"]
        if check["mark"] in ("warn", "bad")
    ]
    assert data["findings"] == len(warnings)
    assert code == (1 if warnings else 0)
    return warnings


def test_a_healthy_place_has_no_findings(
    capsys: pytest.CaptureFixture[str], write_pack: Callable[..., Path]
) -> None:
    """Without findings `doctor` exits with 0, and prints versions, packs, patches and Python."""
    write_pack("my_pack", pack_source(row_source()))
    assert findings(capsys, "--patches", "my_pack") == []
    assert main(["doctor", "--patches", "my_pack"]) == 0
    out = capsys.readouterr().out
    for words in (
        "0.12.0 (VLLM_VERSION)",
        "1 patch, from --patches",
        "1 of 1 patch",
        sys.executable,
    ):
        assert words in out


def test_every_check_has_the_four_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs find topic, mark, subject and message in each line."""
    main(["doctor", "--format", "json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {"python", "versions", "patches", "ways in"} <= {
        check["topic"] for check in checks
    }
    assert all(
        list(check) == ["topic", "mark", "subject", "message"] for check in checks
    )


@pytest.mark.parametrize(
    ("version", "words"),
    [("banana", "is no version"), ("0.1.dev1+gabc", "does not say which")],
)
def test_a_version_that_says_nothing_is_bad(
    version: str,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A version that cannot be used is a bad line of `doctor`, where `list` would stop."""
    monkeypatch.setenv("VLLM_VERSION", version)
    ((mark, subject, message),) = findings(capsys)
    assert (mark, subject) == ("bad", "vllm")
    assert words in message


def test_no_vllm_is_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` warns where vLLM is not installed, as there is nothing to patch."""
    monkeypatch.delenv("VLLM_VERSION")
    monkeypatch.setattr(
        "patchkit.core.versions.installed.Versions.find", lambda self, name: None
    )
    assert findings(capsys) == [("warn", "vllm", "not installed")]


def test_no_vllm_beside_another_engine_is_a_note(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    write_pack: Callable[..., Path],
) -> None:
    """Where SGLang is installed, there is something to patch; rows for vLLM just do not apply."""
    write_pack("my_pack", pack_source(row_source()))
    monkeypatch.delenv("VLLM_VERSION")
    find = Versions.find
    names = {"sglang": "click", "vllm": "not-installed-here"}
    monkeypatch.setattr(
        Versions, "find", lambda self, name: find(self, names.get(name, name))
    )
    assert findings(capsys, "--patches", "my_pack") == []


def test_a_version_that_counts_as_another_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` shows which release a pre-release counts as."""
    monkeypatch.setenv("VLLM_VERSION", "0.12.0rc1+cpu")
    main(["doctor"])
    assert "0.12.0rc1+cpu, counts as 0.12.0" in capsys.readouterr().out


def test_a_malformed_pack_is_bad_and_the_others_are_read(
    capsys: pytest.CaptureFixture[str], write_pack: Callable[..., Path]
) -> None:
    """A malformed pack is a bad line, and does not hide what the other packs are like."""
    write_pack("good_pack", pack_source(row_source()))
    write_pack("bad_pack", "PATCHES = 3")
    packs = ("--patches", "bad_pack", "--patches", "good_pack")
    ((mark, subject, message),) = findings(capsys, *packs)
    assert (mark, subject) == ("bad", "bad_pack")
    assert "a tuple of Patch" in message
    main(["doctor", *packs])
    assert "1 of 1 patch" in capsys.readouterr().out


def test_packs_that_do_not_go_together_are_bad(
    capsys: pytest.CaptureFixture[str], write_pack: Callable[..., Path]
) -> None:
    """Two packs that have a patch of the same name are bad, though each alone is fine."""
    write_pack("one_pack", pack_source(row_source()))
    write_pack("two_pack", pack_source(row_source()))
    ((mark, _, message),) = findings(
        capsys, "--patches", "one_pack", "--patches", "two_pack"
    )
    assert mark == "bad"
    assert "pack one_pack as well" in message


@pytest.mark.parametrize(
    ("named", "subject", "words"),
    [
        ("my_pak", "my_pak", "PYTHONPATH; did you mean my_pack?"),
        ("./my_pack", "./my_pack", "not a path; did you mean my_pack?"),
        ("", "''", "pack '', name: found '', expected the dotted name of a package"),
        ("far_away", "far_away", "installed or in a folder of PYTHONPATH"),
        ("folder", "folder", "PATCHES: found nothing, as folder has no __init__.py"),
    ],
)
def test_a_pack_that_is_not_there_is_bad(
    named: str,
    subject: str,
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    write_pack: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`doctor` says what was found, and which pack of this folder may be meant."""
    monkeypatch.chdir(tmp_path)
    write_pack("my_pack", pack_source(row_source()))
    (tmp_path / "folder").mkdir()
    line = findings(capsys, "--patches", named)[0]
    assert line[:2] == ("bad", subject)
    assert words in line[2]
    assert ("did you mean" in line[2]) is ("did you mean" in words)


def test_names_that_no_patch_has_are_a_warning(
    capsys: pytest.CaptureFixture[str],
    write_pack: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name in PATCHKIT_DISABLE or PATCHKIT_ONLY that no patch has is a warning."""
    write_pack("my_pack", pack_source(row_source()))
    monkeypatch.setenv("PATCHKIT_DISABLE", "a-pach")
    monkeypatch.setenv("PATCHKIT_ONLY", "a-patch,zzz")
    assert findings(capsys, "--patches", "my_pack") == [
        (
            "warn",
            "PATCHKIT_DISABLE",
            "no patch is named 'a-pach'; did you mean a-patch?",
        ),
        ("warn", "PATCHKIT_ONLY", "no patch is named 'zzz'"),
    ]


def test_a_variable_that_is_none_of_ours_is_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A PATCHKIT variable that does not exist is a warning, with the name that may be meant."""
    monkeypatch.setenv("PATCHKIT_JURNAL", "/tmp")
    ((mark, subject, message),) = findings(capsys)
    assert (mark, subject) == ("warn", "PATCHKIT_JURNAL")
    assert "did you mean PATCHKIT_JOURNAL?" in message


def test_conflicts_between_selected_patches_are_bad(
    capsys: pytest.CaptureFixture[str], write_pack: Callable[..., Path]
) -> None:
    """A conflict of two selected patches is bad; one with a patch that is not selected is none."""
    rival = row_source(name="'rival'", conflicts="('a-patch', 'far')")
    far = row_source(name="'far'", requires="('vllm<0.5',)")
    write_pack("my_pack", pack_source(row_source(), rival, far))
    ((mark, subject, message),) = findings(capsys, "--patches", "my_pack")
    assert (mark, subject) == ("bad", "rival")
    assert "conflicts with a-patch" in message


def test_patches_that_a_rust_frontend_leaves_without_a_process_are_a_warning(
    capsys: pytest.CaptureFixture[str],
    write_pack: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`doctor` warns of a patch for main's entrypoints where the frontend is no Python process."""
    chat = "(Replace('vllm.entrypoints.openai.serving_chat:f', by='f'),)"
    write_pack("my_pack", pack_source(row_source(changes=chat)))
    assert findings(capsys, "--patches", "my_pack") == []
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    ((mark, subject, message),) = findings(capsys, "--patches", "my_pack")
    assert (mark, subject) == ("warn", "a-patch")
    why = "the Rust frontend is no Python process"
    assert message == f"has no process with VLLM_USE_RUST_FRONTEND set: {why}"


def test_settings_in_effect_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` prints the settings that are set, and exits with 0."""
    monkeypatch.setenv("PATCHKIT_LOG", "info")
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["PATCHKIT_LOG", "info"] for line in lines)


# -- ways in ---------------------------------------------------------------------------------------


class Entry:
    """An entry point, with the two fields that `doctor` reads."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.value = value


def way(checks: list[HealthLine], subject: str) -> dict[str, Any]:
    """The only check of that subject, as a dictionary."""
    (check,) = [check for check in checks if check.subject == subject]
    return check._asdict()


@pytest.mark.parametrize(
    ("environ", "mark"),
    [
        ({}, "ok"),
        ({"VLLM_PLUGINS": "other,patchkit"}, "ok"),
        ({"VLLM_PLUGINS": "other"}, "warn"),
        ({"VLLM_PLUGINS": ""}, "warn"),
    ],
)
def test_the_plugin_counts_unless_it_is_left_out(
    environ: dict[str, str], mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our vLLM plugin is ok, and a warning where VLLM_PLUGINS is set and does not name it."""
    entries = (
        Entry("patchkit", "patchkit.runtime.reach.vllm_plugin:general"),
        Entry("other", "other:plugin"),
    )
    monkeypatch.setattr("patchkit.cli.ways_in.entry_points_of", lambda group: entries)
    assert way(ways_in(environ), "vLLM plugin")["mark"] == mark
    of_sglang = {
        name.replace("VLLM", "SGLANG"): value for name, value in environ.items()
    }
    assert way(ways_in(of_sglang), "SGLang plugin")["mark"] == mark


@pytest.mark.parametrize(
    ("version", "mark"),
    [("0.5.10.post1", "note"), ("0.5.11rc1", "ok"), ("0.5.23", "ok"), ("?", "ok")],
)
def test_a_release_without_plugins_does_not_load_ours(
    version: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SGLang loads plugins from 0.5.11 on; of an unknown version, it is taken to do so."""
    monkeypatch.syspath_prepend(str(tmp_path))
    info = tmp_path / f"sglang-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: sglang\nVersion: {version}\n")
    entries = (Entry("patchkit", "patchkit.runtime.reach.sglang_plugin:load"),)
    monkeypatch.setattr("patchkit.cli.ways_in.entry_points_of", lambda group: entries)
    check = way(ways_in({}), "SGLang plugin")
    assert check["mark"] == mark
    if mark == "note":
        assert check["message"] == (
            "not active: found SGLang 0.5.10.post1, which loads no plugins, expected 0.5.11 or "
            "later; use 'patchkit run' or the bootstrap"
        )


def test_run_is_seen_from_inside() -> None:
    """A process that `patchkit run`, or its folder on PYTHONPATH, has armed says so."""
    inside = way(ways_in({"PYTHONPATH": f"{SITECUSTOMIZE_FOLDER}:/x"}), "patchkit run")
    assert inside["mark"] == "ok"
    assert inside["message"] == (
        "active: PYTHONPATH has its folder, from 'patchkit run' or as this environment sets it"
    )
    former = SITECUSTOMIZE_FOLDER.replace("/runtime/bootstrap", "/bootstrap")
    assert way(ways_in({"PYTHONPATH": former}), "patchkit run") == inside
    outside = way(ways_in({"PYTHONPATH": "/x"}), "patchkit run")
    assert outside["mark"] == "note"
    assert outside["message"] == "not active: PYTHONPATH does not have its folder"


def test_a_bootstrap_is_active_with_its_variable(tmp_path: Path) -> None:
    """An installed bootstrap is active with PATCHKIT=1, and a mere note without."""
    install(tmp_path)
    folders = [str(tmp_path / "none"), str(tmp_path)]
    active = way(ways_in({"PATCHKIT": "1"}, folders), "bootstrap")
    assert (active["mark"], active["message"]) == ("ok", f"active, in {tmp_path}")
    assert way(ways_in({}, folders), "bootstrap")["mark"] == "note"


@pytest.mark.parametrize("name", ["_vllm_patchkit.pth", "patchkit-bootstrap.pth"])
def test_patchkit_1_without_a_bootstrap_is_a_warning(tmp_path: Path, name: str) -> None:
    """A `.pth` of an editable installation, or somebody else's, is no bootstrap."""
    (tmp_path / name).write_text("/home/me/patchkit\n")
    checks = list(ways_in({"PATCHKIT": "1"}, [str(tmp_path)]))
    assert way(checks, "bootstrap")["message"] == "not installed"
    assert way(checks, "PATCHKIT=1")["mark"] == "warn"


def test_a_bootstrap_that_is_not_whole_is_a_warning(tmp_path: Path) -> None:
    """A bootstrap that lacks a file is a warning that names `patchkit bootstrap install`."""
    install(tmp_path)
    (tmp_path / "_patchkit_bootstrap.py").unlink()
    check = way(ways_in({"PATCHKIT": "1"}, [str(tmp_path)]), "bootstrap")
    assert check["mark"] == "warn"
    assert check["message"].startswith("incomplete: 'patchkit bootstrap install'")


def test_patchkit_0_is_a_warning() -> None:
    """`doctor` warns of PATCHKIT=0, with which nothing is patched."""
    assert way(ways_in({"PATCHKIT": "0"}), "PATCHKIT=0")["mark"] == "warn"
