"""Which benchmarks run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import app
from benchmarks.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], int | None]]:
    """What is asked for, in place of running it."""
    calls: list[tuple[list[str], int | None]] = []

    def run(names: Sequence[str], rounds: int | None) -> Iterator[Result]:
        calls.append((list(names), rounds))
        yield Result(name="load", title="A load", unit="tokens/s", rounds=2)

    monkeypatch.setattr(app, "_run", run)
    return calls


def test_the_load_runs_if_it_is_named(
    asked: list[tuple[list[str], int | None]], capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes longer than all others; `make bench`, which names none, leaves it out."""
    assert app.main([]) == 0
    assert app.main(["load", "--rounds", "2"]) == 0
    (by_default, no_rounds), named = asked
    assert "load" not in by_default
    assert {"tokens", "start-up", "type-checkers"} <= set(by_default)
    assert no_rounds is None
    assert named == (["load"], 2)
    assert "A load" in capsys.readouterr().out


def test_a_page_is_written_of_a_run_without_names(
    asked: list[tuple[list[str], int | None]],
) -> None:
    """The tables of the page are of one run: with a name, nothing runs."""
    with pytest.raises(SystemExit):
        app.main(["--write", "load"])
    assert asked == []
