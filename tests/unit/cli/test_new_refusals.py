"""What `patchkit new` refuses, and what it says then."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels

from cli.new_project import new, project, refusal, world
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["project", "world"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "up.mod:nope"], "up.mod:nope is not in up 1.2"),
        (
            ["--target", "up.mod:nope"],
            "'patchkit history up.mod:nope' looks in all releases",
        ),
        (["--target", "up.mod:C", "--kind", "wrap"], "--kind replace takes it"),
        (
            ["--target", "up.mod:C", "--kind", "edit"],
            "a function with source of its own",
        ),
        (["--target", "up.mod", "--kind", "wrap"], "expected 'module:qualname'"),
        (
            ["--target", "up.mod:f", "--kind", "after-import"],
            "expected the module alone",
        ),
        (["--target", "up.mod:f", "--kind", "add"], "is in up 1.2 already"),
        (["--target", "up.mod:C", "--kind", "add-field"], "'module:Class.field'"),
        (["--target", "other.mod:f"], "found no other to look it up in"),
        (["--target", "no target"], "expected a target such as"),
    ],
)
def test_what_cannot_be_started_is_one_error(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`new` exits with 2, says what is wrong with target or kind, and writes nothing."""
    assert message in refusal(capsys, "p", *words)
    assert list(Path().iterdir()) == []


def test_a_target_that_moved_says_where_to(capsys: pytest.CaptureFixture[str]) -> None:
    """A target that only an older release has is refused, and the error says where it moved."""
    error = refusal(capsys, "p", "--target", "up.mod:gone", at="up>=1,<2")
    assert "moved to up.late:gone" in error


@pytest.mark.parametrize("target", ["up.mod:plainn", "up.modd:plain", "up.mod.plain"])
def test_a_mistyped_target_says_what_may_be_meant(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target with a letter too much, or a dot for the colon, gets the one that may be meant."""
    assert "; did you mean up.mod:plain?" in refusal(capsys, "p", "--target", target)


def test_a_target_that_went_long_before_is_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target that moved before the newest release, and was rewritten since, is still followed."""
    later = (
        "def gone(every, other, word):\n"
        "    return [word, other, every] * 2 if every else word\n"
    )
    write_wheels(tmp_path / "wheels", {"1.3": {"mod": "", "late": later}})
    error = refusal(capsys, "p", "--target", "up.mod:gone", at="up>=1,<2")
    assert "up.late:gone" in error


def test_a_refusal_that_reads_more_of_an_index_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal that reads further releases of an index is still one line. The cache, in which it
    keeps where a target went, is open then.
    """
    wheel = next((tmp_path / "wheels").glob("up-1.2-*"))
    page = tmp_path / "simple" / "up" / "index.html"
    page.parent.mkdir(parents=True)
    mark = sha256(wheel.read_bytes()).hexdigest()
    page.write_text(f'<a href="{wheel.as_uri()}#sha256={mark}">{wheel.name}</a>')
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", page.parents[1].as_uri())
    error = refusal(capsys, "p", "--target", "up.mod:gone")
    assert "up.mod:gone is not in up 1.2" in error
    assert error.count("\n") == 1


REGISTRY = """\
TABLE = {name: name.lower() for name in ("A", "B")}


class Registry:
    def __init__(self):
        self.models = {}


REGISTRY = Registry()
REGISTRY.models.update(TABLE)
"""


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("TABLE['A']", "TABLE has no items that can be read from the source"),
        ("REGISTRY.models['A']", "an instance has it once"),
    ],
)
def test_an_item_that_code_sets_says_what_to_do(
    target: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the kinds for each case, and one of them starts a patch."""
    write_wheels(tmp_path / "wheels", {"1.2": {"registry": REGISTRY}})
    words = ["--target", f"up.registry:{target}"]
    error = refusal(capsys, "p", *words)
    assert reason in error
    assert "--kind replace if the import of up.registry sets it" in error
    assert "patchkit new NAME --kind after-import --target up.registry" in error
    assert new("p", *words, "--kind", "replace") == 0
    assert new("q", "--target", "up.registry", "--kind", "after-import") == 0


def test_nothing_that_is_there_is_overwritten(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A name, a body and a test that exist are errors; no file is touched."""
    assert new("p", "--target", "up.mod:f") == 0
    before = {file: file.read_bytes() for file in Path().rglob("*.py")}
    capsys.readouterr()
    assert "found a row 'p'" in refusal(capsys, "p", "--target", "up.mod:C")
    error = refusal(capsys, "q", "--target", "up.mod:C", "--body", "patch_mod")
    assert "patch_mod.py, expected no such file" in error
    assert "--body names another" in error
    Path("tests/test_q.py").touch()
    error = refusal(capsys, "q", "--target", "up.mod:C", "--body", "patch_c")
    assert "test_q.py, expected no such file" in error
    Path("tests/test_q.py").unlink()
    assert {file: file.read_bytes() for file in Path().rglob("*.py")} == before


def test_a_name_that_another_pack_uses_is_refused(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are unique over all packs, so the next start would fail otherwise."""
    assert new("p", "--target", "up.mod:f") == 0
    monkeypatch.setenv("PATCHKIT_PATCHES", "my_pack")
    words = ["new", "p", "--target", "up.mod:C", "--role", "main", "--releases"]
    assert main([*words, "up==1.2", "--pack", "other_pack"]) == 2
    error = capsys.readouterr().err
    assert "found a patch 'p' in my_pack, expected a new name" in error
    assert not Path("other_pack").exists()
