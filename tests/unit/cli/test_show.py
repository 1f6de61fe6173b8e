from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from samples import pack_source, row_source

from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROW = row_source(
    name="'ray-worker'",
    requires="('vllm>=0.11', 'torch_npu')",
    changes="""(
        Replace('upstream.module:function', by='other', rebind=False),
        Wrap('gone.module:f', by='around', requires=('vllm<0.12',)),
        Edit('upstream.module:function', old='''
            old(
                [bold],
            )
        ''', new='', count=2),
        AddField('upstream.module:Data', 'extra', int, [1]),
    )""",
    why="'Ray fails.'",
    after="('first',)",
    conflicts="('rival',)",
    env="'FLAG=1'",
    when="'is_needed'",
    required="False",
)


@pytest.fixture(autouse=True)
def _pack(write_pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows, and an upstream of one module that raises when it is imported."""
    monkeypatch.setattr("patchkit.packs.OWN_PACKS", ())
    write_pack("my_pack", pack_source(row_source(name="'first'"), ROW))
    folder = write_pack("upstream", "raise AssertionError", bodies=())
    (folder / "module.py").write_text("raise AssertionError\n\ndef function(): ...\n")
    monkeypatch.setenv("PATCHKIT_PATCHES", "my_pack")
    monkeypatch.setenv("VLLM_VERSION", "0.12.0")


def test_json_has_the_whole_row_and_how_it_stands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Beside the keys of `list` there is every other field, and what is found here."""
    assert main(["show", "ray-worker", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["name"], data["pack"], data["selected"]) == ("ray-worker", "my_pack", False)
    assert data["reason"] == "FLAG is not set"
    assert data["requirements"] == [
        {
            "requirement": "vllm>=0.11",
            "version": "0.12.0",
            "source": "VLLM_VERSION",
            "holds": True,
            "reason": None,
        },
        {
            "requirement": "torch_npu",
            "version": None,
            "source": None,
            "holds": False,
            "reason": "torch_npu is not installed",
        },
    ]
    function, gone, edit, field = data["changes"]
    assert (function["fields"], gone["fields"]) == ({"unrelated": False}, {})
    assert (edit["fields"]["new"], edit["fields"]["count"], edit["by"]) == ("", 2, "")
    assert field["fields"] == {"name": "extra", "type": "int", "default": "[1]"}
    assert (function["by"], function["rebind"], function["selected"]) == ("other", False, True)
    assert function["here"] == {
        "state": "present",
        "file": str(tmp_path / "upstream" / "module.py"),
        "line": 3,
        "detail": "present",
    }
    assert gone["here"]["state"] == "no-module"
    assert (gone["selected"], gone["reason"]) == (False, "vllm 0.12.0 is outside <0.12")
    rest = ("required", "after", "conflicts", "env", "when")
    assert [data[key] for key in rest] == [False, ["first"], ["rival"], "FLAG=1", "is_needed"]


def test_the_page_holds_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    """What a program gets, a person can read."""
    assert main(["show", "ray-worker"]) == 0
    out = capsys.readouterr().out
    for words in (
        "not selected: FLAG is not set",
        "vllm>=0.11",
        "VLLM_VERSION",
        "not installed",
        "Ray fails.",
        "first",
        "rival",
        "FLAG=1",
        "is_needed",
        "is a warning",
        "upstream/module.py:3",
        "module gone.module is not found here",
        "old     old(\n               [bold],\n           )",
        "new     (nothing)",
        "count   2",
        "default  [1]",
    ):
        assert words in out, words


@pytest.mark.parametrize(
    ("name", "hint"),
    [("ray-workr", "did you mean ray-worker?"), ("zzz", "'patchkit list --all' names the 2")],
)
def test_an_unknown_name_is_2_with_the_nearest(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slip of the pen gets the names that it may have meant."""
    assert main(["show", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"patchkit: no patch is named {name!r}")
    assert hint in err
