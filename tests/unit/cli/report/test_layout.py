"""Tables of reports: no word of a cell is broken, however narrow the terminal is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.table import Column
from rich.text import Text

from patchkit.cli.report.console import columns, console, folded, whole

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = "vllm.model_executor.models.registry:ModelRegistry.models['LlamaForCausalLM']"
HEADS = ("patch", "target", "remarks")
COMMAND = "patchkit lock --releases vllm>=0.30"


@pytest.fixture
def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[str]]:
    """Print a table of two patches with their targets, and return its lines."""

    def run(width: int, heads: tuple[str, str, str] = HEADS) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        table = columns(whole(heads[0]), folded(heads[1]), folded(heads[2]))
        table.add_row("core-loop", "up.mod:f", "a remark of many words " * 4)
        table.add_row("models", TARGET, "seen")
        console().print(table)
        return capsys.readouterr().out.splitlines()

    return run


@pytest.mark.parametrize("width", [20, 40, 80, 100, 160])
@pytest.mark.parametrize("heads", [HEADS, ("", "", "")])
def test_a_name_is_never_broken(
    printed: Callable[..., list[str]], width: int, heads: tuple[str, str, str]
) -> None:
    """A target stands on one line at any width, and lines without it keep to the width."""
    lines = printed(width, heads)
    assert sum(TARGET in line for line in lines) == 1
    assert max(len(line) for line in lines if TARGET not in line) <= max(width, 25)


def test_columns_stand_beside_each_other_where_they_have_room(
    printed: Callable[..., list[str]],
) -> None:
    """With room, a row is a line, and what is left goes to the cells that need it."""
    head, first, *_ = printed(160)
    assert head.index("remarks") == first.index("a remark")


def test_a_row_without_room_is_a_block(printed: Callable[..., list[str]]) -> None:
    """Without room, the first cell stands alone, and the others below it behind their heads."""
    lines = printed(90)
    place = lines.index("models")
    assert lines[place + 1 : place + 3] == [
        f"    target   {TARGET}",
        "    remarks  seen",
    ]


def test_what_may_be_cut_gives_way(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that may be cut is, before one that says what became of something is folded."""
    monkeypatch.setenv("COLUMNS", "50")
    table = columns(Column("process"), folded("patches"))
    label = Text("a command line that is long", no_wrap=True, overflow="ellipsis")
    table.add_row(label, "1 applied, 1 skipped, 2 armed")
    console().print(table)
    (_, line) = capsys.readouterr().out.splitlines()
    assert line.endswith("…  1 applied, 1 skipped, 2 armed")


def test_a_text_folds_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of prose is folded at the edge of the terminal, and its target stays whole."""
    monkeypatch.setenv("COLUMNS", "40")
    console().print(Text(f"the patch changes {TARGET}, which is never called"))
    lines = capsys.readouterr().out.splitlines()
    assert f"{TARGET}," in lines
    assert "the patch changes" in lines


def test_a_command_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is printed as it is stays on one line, so that it can be copied."""
    monkeypatch.setenv("COLUMNS", "20")
    console().print(Text(COMMAND), soft_wrap=True)
    assert capsys.readouterr().out == f"{COMMAND}\n"
