from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from support.samples import pack_source, row_source

from patchkit.cli import main

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

ROWS = (
    row_source(
        name="'for-here'",
        why="'what goes wrong'",
        upstream="'none: x'",
        sunset="'never'",
    ),
    row_source(
        name="'too-new'",
        requires="('vllm>=0.13', 'ray[default]')",
        roles="{Role.WORKER}",
    ),
    row_source(
        name="'moved'",
        changes="""(
            Replace('old:f', by='f', requires=('vllm<0.12',)),
            AfterImport('n', call='f', sets=('n:g',)),
        )""",
    ),
    row_source(name="'needs-npu'", requires="('vllm', 'torch_npu')"),
)


@pytest.fixture(autouse=True)
def _pack(write_pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """One pack of four rows, and versions that do not depend on this machine."""
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ())
    write_pack("my_pack", pack_source(*ROWS))
    monkeypatch.setenv("PATCHKIT_PATCHES", "my_pack")
    monkeypatch.setenv("PATCHKIT_VERSIONS", "ray=2.35.0")
    monkeypatch.setenv("VLLM_VERSION", "0.12.0")


def listed(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """What `patchkit list --format json` says."""
    assert main(["list", "--format", "json", *argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    data: dict[str, Any] = json.loads(out)
    return data


def test_a_version_that_contradicts_what_is_installed_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its patches are left out, or selected, for another release than that which runs."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "packaging=1.0")
    assert main(["list", "--format", "json"]) == 0
    said = capsys.readouterr().err
    assert "packaging 1.0 (PATCHKIT_VERSIONS), but " in said
    assert "unset PATCHKIT_VERSIONS, or install 1.0" in said


def test_json_keeps_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has the keys that programs rely on, and they hold what the row says."""
    data = listed(capsys)
    assert list(data) == ["versions", "patches"]
    assert data["patches"][0] == {
        "name": "for-here",
        "pack": "my_pack",
        "body": "my_pack.patch_a",
        "roles": ["main"],
        "requires": ["vllm>=0.11,<0.34"],
        "changes": [
            {
                "kind": "Replace",
                "target": "upstream.module:function",
                "requires": [],
                "when": None,
            }
        ],
        "selected": True,
        "reason": None,
        "when": None,
        "why": "what goes wrong",
        "upstream": "none: x",
        "sunset": "never",
    }


def test_json_has_what_a_call_sets(capsys: pytest.CaptureFixture[str]) -> None:
    """An AfterImport has `sets` beside the keys that every change has."""
    _, call = listed(capsys)["patches"][2]["changes"]
    assert call == {
        "kind": "AfterImport",
        "target": "n",
        "requires": [],
        "when": None,
        "sets": ["n:g"],
    }


def test_json_lists_all_patches_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A program sees every row, in order, and why it is not for here."""
    patches = listed(capsys)["patches"]
    assert [
        (patch["name"], patch["selected"], patch["reason"]) for patch in patches
    ] == [
        ("for-here", True, None),
        ("too-new", False, "vllm 0.12.0 is outside >=0.13"),
        ("moved", True, None),
        ("needs-npu", False, "torch_npu is not installed"),
    ]


@pytest.mark.processes
def test_patchkits_own_rows_are_selected_only_where_their_backend_is(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Without torch_npu they are not; a backend that is named by hand is asked for by the body."""
    versions = {"VLLM_VERSION": "0.32.0", "PATCHKIT_VERSIONS": "ray=2.50"}
    words = ("-m", "patchkit", "list", "--all")
    lines = python(*words, **versions).stdout.splitlines()
    assert [line for line in lines if "torch-npu" in line and " selected" in line] == []
    assert sum("torch_npu is not installed" in line for line in lines) == 3
    shown = python(*words, PATCHKIT_DEVICE_BACKEND="mine", **versions).stdout
    assert shown.count("selected, unless is_installed() of its body refuses") == 3


def test_json_covers_every_distribution_that_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Versions say where they come from; what is not installed is null."""
    for argv in ((), ("--role", "worker")):
        assert listed(capsys, *argv)["versions"] == {
            "vllm": {"version": "0.12.0", "source": "VLLM_VERSION"},
            "ray": {"version": "2.35.0", "source": "PATCHKIT_VERSIONS"},
            "torch_npu": {"version": None, "source": None},
        }


def test_role_lists_the_patches_of_that_role(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--role` lists the patches of that role, and no others."""
    patches = listed(capsys, "--role", "worker")["patches"]
    assert [patch["name"] for patch in patches] == ["too-new"]


def test_vllm_is_believed_before_the_environment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--vllm V` says what would be selected with that version."""
    data = listed(capsys, "--vllm", "0.13.0")
    assert data["versions"]["vllm"] == {"version": "0.13.0", "source": "--vllm"}
    assert [patch["name"] for patch in data["patches"] if patch["selected"]] == [
        "for-here",
        "too-new",
        "moved",
    ]


@pytest.mark.parametrize("variable", ["VLLM_VERSION", "PATCHKIT_VERSIONS"])
def test_an_override_that_is_no_version_is_2(
    variable: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable whose version is none ends `list` with 2, and the error names the variable."""
    monkeypatch.delenv("VLLM_VERSION")
    value = "banana" if variable == "VLLM_VERSION" else "vllm=banana"
    monkeypatch.setenv(variable, value)
    assert main(["list"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"'banana' in {variable}" in err


def test_an_installed_version_that_says_nothing_is_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A development build does not stop the list; its rows say what to set."""
    monkeypatch.delenv("VLLM_VERSION")
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").write_text(
        "__version__ = '0.1.dev16577+gabc'\n"
    )
    data = listed(capsys)
    assert data["versions"]["vllm"]["version"] == "0.1.dev16577+gabc"
    assert [patch["selected"] for patch in data["patches"]] == [False] * 4
    assert "Set VLLM_VERSION" in data["patches"][0]["reason"]


def test_the_table_shows_what_is_selected_and_counts_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The default answers 'what is for here'; the count is talk, so it is on stderr."""
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert "for-here" in out
    assert "too-new" not in out
    assert "0.12.0" in out
    assert err == "patchkit: 2 patches left out: --all says why\n"


def test_all_shows_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """`--all` has the others too, each with its reason, and nothing more to say."""
    assert main(["list", "--all"]) == 0
    out, err = capsys.readouterr()
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "selected" in lines["for-here"]
    assert "vllm 0.12.0 is outside >=0.13" in lines["too-new"]
    assert err == ""


@pytest.mark.processes
def test_the_users_patches_come_first(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """The user's pack is listed before those of patchkit, which are counted apart on stderr."""
    environ = {
        "VLLM_VERSION": "0.12.0",
        "PATCHKIT_VERSIONS": "ray=2.35.0",
        "PATCHKIT_PATCHES": "my_pack",
    }
    done = python("-m", "patchkit", "list", "--all", **environ)
    lines = done.stdout.splitlines()
    assert lines.index("my_pack") < lines.index("patchkit.platform")
    done = python("-m", "patchkit", "list", **environ)
    pattern = r"2 patches, and \d+ that come with patchkit, left out: --all says why"
    assert re.search(pattern, done.stderr)
