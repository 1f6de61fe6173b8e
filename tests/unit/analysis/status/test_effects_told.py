"""What processes tell of their calls, read and shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from analysis.status.told import NOW, armed, journal, line, look, patch, role
from patchkit.analysis.status.journals import parse_journal
from patchkit.analysis.status.picture import draw
from patchkit.analysis.status.process_status import CALLED, NEVER_CALLED, NOT_OBSERVABLE
from patchkit.cli import main
from patchkit.cli.report.status_json import status_json

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.analysis.status.process_status import ProcessStatus

LAYERS = {"vllm.a:f": ["one"], "vllm.a:g": ["one"]}
APPLIED = patch("one", "applied", module="vllm.a", layers=LAYERS)


def effects(at: float = 0, **targets: str) -> bytes:
    """An entry for the targets `f` and `g`."""
    words = {f"vllm.a:{name}": word for name, word in targets.items()}
    return line("in-effect", patches={"one": words}, time=NOW + at)


def parsed(*entries: bytes) -> ProcessStatus:
    """A worker that has these entries in its journal."""
    process = parse_journal(
        "node-1-1.jsonl", armed(1) + role("worker") + b"".join(entries)
    )
    assert process is not None
    return process


@pytest.mark.parametrize(
    ("words", "in_effect"),
    [
        ({"f": CALLED, "g": NEVER_CALLED}, "yes"),
        ({"f": CALLED, "g": NOT_OBSERVABLE}, "yes"),
        ({"f": NEVER_CALLED, "g": NEVER_CALLED}, "no"),
        ({"f": NEVER_CALLED, "g": NOT_OBSERVABLE}, "unknown"),
        ({"f": NEVER_CALLED}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_whether_a_patch_is_in_effect(words: dict[str, str], in_effect: str) -> None:
    """One call says yes, no call of all targets says no; a target without a word leaves it open."""
    status = parsed(APPLIED, effects(**words)).patches["one"]
    assert status.in_effect == in_effect
    assert [*status.calls] == [*LAYERS]
    assert status.calls["vllm.a:g"] == words.get("g", NOT_OBSERVABLE)


def test_the_last_word_counts() -> None:
    """A later entry overrides what it names; a patch that is applied anew has no word yet."""
    entries = APPLIED, effects(f=NEVER_CALLED, g=NEVER_CALLED), effects(f=CALLED)
    assert parsed(*entries).patches["one"].calls == {
        "vllm.a:f": CALLED,
        "vllm.a:g": NEVER_CALLED,
    }
    again = parsed(*entries, patch("one", "armed"), APPLIED)
    assert set(again.patches["one"].calls.values()) == {NOT_OBSERVABLE}


def test_when_calls_were_observed_last() -> None:
    """A look that found nothing new counts too; without a look that found one there is no time."""
    assert parsed(APPLIED).observed is None
    assert parsed(APPLIED, line("verified", time=NOW + 9)).observed is None
    assert parsed(APPLIED, effects(5, f=NEVER_CALLED)).observed == NOW + 5
    entries = effects(5, f=NEVER_CALLED), line("verified", time=NOW + 9)
    assert parsed(APPLIED, *entries).observed == NOW + 9


def test_json_has_effects_and_their_age() -> None:
    """The JSON has `in_effect`, the word of each target, and the age of the last look."""
    files = journal(
        1, role("worker"), APPLIED, effects(40, f=NEVER_CALLED, g=NEVER_CALLED)
    )
    data: dict[str, Any] = json.loads("\n".join(status_json(draw([look(files)]))))
    (process,) = data["processes"]
    row = next(entry for entry in process["patches"] if entry["name"] == "one")
    assert row["in_effect"] == "no"
    assert row["targets"] == dict.fromkeys(LAYERS, NEVER_CALLED)
    assert process["observed"] == 60


@pytest.fixture
def written(tmp_path: Path) -> str:
    """A directory with the journals of two workers, one of which has called a target."""
    never = role("worker"), APPLIED, effects(f=NEVER_CALLED, g=NEVER_CALLED)
    files = {**journal(1, *never), **journal(2, *never, effects(f=CALLED))}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return str(tmp_path)


def test_unused_lists_targets_that_were_never_called(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--unused` lists each target that a process never called, with its processes and the age."""
    main(["status", written, "--unused"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (first,) = [words for words in lines if words[:2] == ["one", "vllm.a:f"]]
    assert first[2:5] == ["worker", "1,", "seen"]
    assert first[-2:] == ["worker", "2"]
    (at,) = [at for at, words in enumerate(lines) if words[:2] == ["one", "vllm.a:g"]]
    assert [lines[at][2:4], lines[at + 1][:2]] == [["worker", "1,"], ["worker", "2,"]]


def test_what_a_fork_calls_counts_for_its_parent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The calls of a fork that no row knows are its parent's, and no table has the fork itself."""
    never = effects(f=NEVER_CALLED, g=NEVER_CALLED)
    applied = patch("one", "applied", module="vllm.a", layers=LAYERS, inherited=True)
    fork = {"forked": True, "ppid": 1}
    copied = role("worker", inherited=True), applied
    journals = {
        **journal(1, role("worker"), APPLIED, never),
        **journal(2, *copied, effects(f=CALLED), **fork),
        **journal(3, *copied, effects(g=NEVER_CALLED), **{**fork, "ppid": 2}),
    }
    for name, data in journals.items():
        (tmp_path / name).write_bytes(data)
    main(["status", str(tmp_path), "--unused"])
    shown = capsys.readouterr().out
    assert "vllm.a:f" not in shown
    (line_of_g,) = [line for line in shown.splitlines() if "vllm.a:g" in line]
    assert line_of_g.endswith("never called")
    main(["status", str(tmp_path)])
    assert "see --unused" not in capsys.readouterr().out


def test_unused_without_an_applied_patch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If no patch is applied, `--unused` does not say that all was called."""
    for name, data in journal(1, role("worker")).items():
        (tmp_path / name).write_bytes(data)
    main(["status", str(tmp_path), "--unused"])
    shown = capsys.readouterr().out
    assert shown == "no target that can be observed is applied\n"


def test_unused_where_every_target_was_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If each target was called, `--unused` says so."""
    files = journal(1, role("worker"), APPLIED, effects(f=CALLED, g=CALLED))
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    main(["status", str(tmp_path), "--unused"])
    assert capsys.readouterr().out == "each target that can be observed was called\n"


@pytest.mark.parametrize(
    "more", [["--watch"], ["--patch", "one"], ["--format", "json"]]
)
def test_unused_stands_alone(
    written: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--unused` beside another view or format exits with 2, and names the option."""
    assert main(["status", written, "--unused", *more]) == 2
    assert "--unused" in capsys.readouterr().err


def test_the_page_of_a_patch_has_the_word_of_each_target(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--patch` shows beside each target whether it was called."""
    main(["status", written, "--patch", "one"])
    text = capsys.readouterr().out
    assert "vllm.a:g  never called" in text
    assert "vllm.a:f  called" in text
