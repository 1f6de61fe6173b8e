"""How long files of end-to-end tests take: read from a log, written into their docstrings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import e2e_times
import pytest

if TYPE_CHECKING:
    from pathlib import Path

TESTS = e2e_times.REPOSITORY / e2e_times.TESTS

LOG = """
....                                                                     [100%]
============================= slowest durations ==============================
61.50s call     tests/e2e/test_a.py::test_one[x-1]
8.25s setup    tests/e2e/test_a.py::test_one[x-1]
200.00s call     tests/e2e/test_b.py::test_two
0.25s teardown tests/e2e/test_a.py::test_one[x-1]
5.00s call     tests/unit/test_c.py::test_three
=================== 3 passed in 200.15s (0:03:20) ===================
"""


def test_a_log_is_added_up_by_file() -> None:
    """Set-ups and tear-downs count; tests that are not end-to-end do not."""
    assert e2e_times.seconds_by_file(LOG) == {"test_a.py": 70.0, "test_b.py": 200.0}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (7.4, "7 s"), (41.0, "40 s"), (118.0, "120 s"), (200, "3 min")],
)
def test_a_time_is_no_more_exact_than_the_next_run(seconds: float, text: str) -> None:
    """It is rounded to seconds, to steps of five seconds, or to minutes."""
    assert e2e_times.sentence(seconds) == f"Takes about {text}."


@pytest.mark.parametrize(
    "source",
    ['"""A.\n\nB.\n"""\n', '"""A.\n\nB.\n\nTakes about 5 s.\n"""\n'],
)
def test_a_docstring_says_the_time_once(source: str) -> None:
    """The sentence is the last paragraph, in place of what a former run has written."""
    expected = '"""A.\n\nB.\n\nTakes about 40 s.\n"""\n\nimport a\n'
    changed = e2e_times.with_sentence(f"{source}\nimport a\n", "Takes about 40 s.")
    assert changed == expected


def test_a_docstring_of_one_line_gets_a_paragraph() -> None:
    """All else of the file stays."""
    changed = e2e_times.with_sentence('"""A."""\n\nX = """b"""\n', "Takes about 1 s.")
    assert changed == '"""A.\n\nTakes about 1 s.\n"""\n\nX = """b"""\n'


def test_a_file_without_a_docstring_is_an_error() -> None:
    """There is no place for the sentence."""
    with pytest.raises(ValueError, match="found no docstring"):
        e2e_times.with_sentence("import a\n", "Takes about 1 s.")


def test_the_files_of_a_log_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other files stay, and the output lists the slowest file first."""
    monkeypatch.setattr(e2e_times, "REPOSITORY", tmp_path)
    folder = tmp_path / "tests" / "e2e"
    folder.mkdir(parents=True)
    for name in ("test_a.py", "test_b.py", "test_c.py"):
        (folder / name).write_text('"""A."""\n')
    (tmp_path / "log").write_text(LOG)
    assert e2e_times.main([str(tmp_path / "log")]) == 0
    assert (folder / "test_a.py").read_text() == '"""A.\n\nTakes about 70 s.\n"""\n'
    assert (folder / "test_b.py").read_text() == '"""A.\n\nTakes about 3 min.\n"""\n'
    assert (folder / "test_c.py").read_text() == '"""A."""\n'
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["test_b.py", "test_a.py"]


def test_a_log_without_durations_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    (tmp_path / "log").write_text("3 passed in 1s\n")
    assert e2e_times.main([str(tmp_path / "log")]) == 1
    assert "found no durations" in capsys.readouterr().err


@pytest.mark.parametrize(
    "file", sorted(TESTS.glob("test_*.py")), ids=lambda file: file.name
)
def test_each_file_says_how_long_it_takes(file: Path) -> None:
    """The last line has the time, or the command that runs the file if `make test-all` does not."""
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    last = docstring.splitlines()[-1]
    assert e2e_times.SENTENCE.fullmatch(last) or last.startswith("Only in `make ")
