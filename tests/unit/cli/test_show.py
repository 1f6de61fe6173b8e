from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.samples import pack_source, row_source

from patchkit.cli import main
from patchkit.core.lock.format import Lock, Span, write_lock

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
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ())
    write_pack("my_pack", pack_source(row_source(name="'first'"), ROW))
    folder = write_pack("upstream", "raise AssertionError", bodies=())
    (folder / "module.py").write_text("IMPORTED = never\n\ndef function(): ...\n")
    monkeypatch.setenv("PATCHKIT_PATCHES", "my_pack")
    monkeypatch.setenv("VLLM_VERSION", "0.12.0")


def test_json_has_the_whole_row_and_how_it_stands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """JSON has every field of the row beside the keys of `list`, and what is found here."""
    assert main(["show", "ray-worker", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["name"], data["pack"], data["selected"]) == (
        "ray-worker",
        "my_pack",
        False,
    )
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
    assert (function["by"], function["rebind"], function["selected"]) == (
        "other",
        False,
        True,
    )
    assert function["here"] == {
        "state": "present",
        "file": str(tmp_path / "upstream" / "module.py"),
        "line": 3,
        "detail": "function, defined in upstream.module",
        "defined": "upstream.module:function",
    }
    assert gone["here"]["state"] == "no-module"
    assert (gone["selected"], gone["reason"]) == (False, "vllm 0.12.0 is outside <0.12")
    assert data["lock"] is None
    states = [change["review"]["state"] for change in data["changes"]]
    assert states == ["no-lock"] * 4
    other_keys = ("required", "after", "conflicts", "env", "when")
    assert [data[key] for key in other_keys] == [
        False,
        ["first"],
        ["rival"],
        "FLAG=1",
        "is_needed",
    ]


def test_the_page_shows_what_json_has(capsys: pytest.CaptureFixture[str]) -> None:
    """The page shows the fields, requirements and targets that JSON has."""
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


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A lock that has the first change as it was once, and nothing of the others."""
    file = tmp_path / "other.lock"
    spans = [Span(mark * 16, "up", first, last) for mark, first, last in SPANS]
    write_lock(file, Lock({"ray-worker": {"upstream.module:function": spans}}))
    return file


SPANS = (("0", "1.0", "1.4"), ("1", "2.0", "2.0"))


def test_json_says_how_it_compares_with_what_was_reviewed(
    locked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON has state, detail and releases of each change's review, and the path of the lock."""
    assert main(["show", "ray-worker", "--lock", str(locked), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["lock"] == str(locked)
    reviews = [change["review"] for change in data["changes"]]
    states = [review["state"] for review in reviews]
    assert states == ["drift", "unknown", "drift", "absent"]
    assert "last reviewed for up 2.0" in reviews[0]["detail"]
    assert reviews[0]["spans"] == [
        {"project": "up", "first": first, "last": last, "fingerprint": mark * 16}
        for mark, first, last in SPANS
    ]


def test_the_page_shows_how_it_compares_with_what_was_reviewed(
    locked: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page names the lock once, and the reviewed releases at the target that they are of."""
    monkeypatch.setenv("PATCHKIT_LOCK", str(locked))
    assert main(["show", "ray-worker"]) == 0
    out = capsys.readouterr().out
    assert out.count("other.lock") == 1
    assert "reviewed  up 1.0 - 1.4, 2.0\n" in out
    assert "differs from the source last reviewed for" in out


def test_no_lock_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a lock the page says so once, and has no line about reviews at the changes."""
    assert main(["show", "ray-worker"]) == 0
    out = capsys.readouterr().out
    assert "no lock file covers this patch" in out
    assert "   reviewed  " not in out


@pytest.mark.parametrize(
    ("text", "words"), [(None, "found no file"), ("<<<<", "other.lock:1")]
)
def test_a_lock_that_cannot_be_read_is_2(
    text: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lock that is missing or malformed ends `show` with 2, and the error says which it is."""
    file = tmp_path / "other.lock"
    if text:
        file.write_text(text)
    assert main(["show", "ray-worker", "--lock", str(file)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ray-workr", "did you mean ray-worker?"),
        ("zzz", "'patchkit list --all' lists all 2"),
        (
            "ray-data-llm",
            "it is in patchkit.data_llm, which --patches patchkit.data_llm adds",
        ),
    ],
)
def test_an_unknown_name_is_2_with_the_nearest(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped name gets the names that may be meant; a name of another pack gets that pack."""
    assert main(["show", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"patchkit: no patch is named {name!r}")
    assert hint in err


@pytest.fixture
def _call(write_pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose call sets a target that is there, and one that is not."""
    call = "AfterImport('upstream', call='g', sets=('upstream.module:function', 'gone.module:f'))"
    source = row_source(name="'called'", changes=f"({call},)")
    write_pack("other_pack", pack_source(source))
    monkeypatch.setenv("PATCHKIT_PATCHES", "other_pack")


@pytest.mark.usefixtures("_call")
def test_the_targets_that_a_call_sets_are_shown_as_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With where they are, and how they compare with what was reviewed."""
    file = tmp_path / "other.lock"
    spans = [Span("0" * 16, "up", "1.0", "1.0")]
    write_lock(file, Lock({"called": {"upstream.module:function": spans}}))
    words = ["show", "called", "--lock", str(file)]
    assert main([*words, "--format", "json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change["sets"] == ["upstream.module:function", "gone.module:f"]
    assert (change["target"], change["review"]) == ("upstream", None)
    there, gone = change["sets_here"]
    assert (there["target"], there["here"]["state"]) == (
        "upstream.module:function",
        "present",
    )
    assert there["review"]["state"] == "drift"
    assert (gone["target"], gone["here"]["state"]) == ("gone.module:f", "no-module")
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "sets      upstream.module:function" in out
    assert "upstream/module.py:3" in out
    assert "sets      gone.module:f" in out
