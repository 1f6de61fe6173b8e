"""`make quality`: the limits are a ratchet, and the docs show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quality import __main__ as command
from quality.limits import Limit, faults, read_limits, tightened, write_limits
from quality.measures import Measure
from quality.table import is_shown, page_with, table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quality.source import Module

PAGE = "# Page\n\n<!-- quality: begin -->\n<!-- quality: end -->\n\nText.\n"


def splats(value: float) -> Measure:
    """A measure without digits."""
    return Measure("splats", "splats of a literal", value)


def share(value: float) -> Measure:
    """A measure with a digit after the point."""
    return Measure("empty-names", "names", value, 1, "%")


@pytest.mark.parametrize(("value", "count"), [(52, 0), (53, 0), (54, 1)])
def test_a_value_over_its_limit_is_a_fault(value: float, count: int) -> None:
    """The limit itself is in order."""
    assert len(faults([splats(value)], {"splats": Limit(53, 0, 53)})) == count


def test_digits_that_are_not_shown_do_not_count() -> None:
    """What is printed as the limit is within it."""
    assert faults([share(13.64)], {"empty-names": Limit(13.6, 3, 13.6)}) == []


def test_a_measure_without_a_limit_is_a_fault() -> None:
    """Nobody gets rid of a limit by deleting it; a measure may be without one by its kind."""
    (sentence,) = faults([splats(0)], {"splats": Limit(aim=0)})
    assert sentence == "splats has no limit in quality.toml"
    assert faults([Measure("mutants", "mutants", 90, is_limited=False)], {}) == []


def test_a_limit_of_nothing_is_a_fault() -> None:
    """A name that is misspelt holds nothing."""
    (sentence,) = faults([], {"splat": Limit(53)})
    assert sentence == "splat has a limit in quality.toml, and is not measured"


def test_a_limit_is_raised_for_a_reason() -> None:
    """A limit that has been lower says in `bought` what it was raised for."""
    raised = Limit(60, 0, lowest=53)
    (sentence,) = faults([splats(60)], {"splats": raised})
    assert "say in `bought`" in sentence
    assert faults([splats(60)], {"splats": Limit(60, 0, 53, "tables of names")}) == []


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (Limit(53, 0, 53), Limit(40, 0, 40)),
        (Limit(30, 0, 30), Limit(30, 0, 30)),
        (Limit(53, 45, 53), Limit(45, 45, 45)),
        (Limit(30, 45, 30), Limit(30, 45, 30)),
        (Limit(60, 0, 38, "tables"), Limit(40, 0, 38, "tables")),
        (Limit(60, 0, 50, "tables"), Limit(40, 0, 40)),
    ],
)
def test_tightening_lowers_limits_and_raises_none(
    limit: Limit, expected: Limit
) -> None:
    """They go down to what is measured or the aim; a reason stays until there is a new lowest."""
    assert tightened([splats(40)], {"splats": limit}) == {"splats": expected}


def test_tightening_sets_no_first_limit() -> None:
    """A first limit is written by hand; aims stay."""
    assert tightened([splats(40), share(1)], {"splats": Limit(aim=0)}) == {
        "splats": Limit(aim=0)
    }


def test_limits_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Numbers of every size and reasons with quotes come back as they were."""
    limits = {
        "nodes-core": Limit(139_505, None, 139_505),
        "density": Limit(7.07, 5.5, 7.05, 'a "table" of C:\\names'),
        "mutants": Limit(aim=85),
    }
    write_limits(tmp_path / "quality.toml", limits)
    assert read_limits(tmp_path / "quality.toml") == limits


def test_a_table_has_the_value_the_limit_and_the_aim() -> None:
    """What is not known is left empty."""
    rows = [share(13.64), Measure("mutants", "mutants", None, 1, "%", is_limited=False)]
    shown = table(rows, {"empty-names": Limit(13.6, 3, 13.6)}).splitlines()[2:]
    assert shown == ["| names | 13.6% | 13.6% | 3.0% |", "| mutants |  |  |  |"]


def test_a_page_takes_the_table_between_its_marks() -> None:
    """Text around it stays, and a second table takes the place of the first."""
    once = page_with(PAGE, "| old |")
    assert page_with(once, "| new |") == PAGE.replace(
        "begin -->\n", "begin -->\n| new |\n"
    )
    with pytest.raises(ValueError, match="expected <!-- quality: begin -->"):
        page_with("# Page\n", "| new |")


def test_a_page_shows_limits_and_aims_of_today() -> None:
    """Figures change with every commit, and are not compared."""
    limits = {"splats": Limit(53, 0, 53)}
    page = page_with(PAGE, table([splats(53)], limits))
    assert is_shown(page, table([splats(52)], limits))
    assert not is_shown(page, table([splats(53)], {"splats": Limit(52, 0, 52)}))
    assert not is_shown(page, table([splats(53), share(1)], limits))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the limit 53 for splats, of which it has 40."""

    def measured(_: Path, modules: Sequence[Module]) -> list[Measure]:
        return [
            Measure("splats", "splats", 40 + len(modules), details=("a.py:1", "a.py:7"))
        ]

    monkeypatch.setattr(command, "measure", measured)
    page = tmp_path / "docs" / "architecture.md"
    page.parent.mkdir()
    page.write_text(PAGE)
    write_limits(tmp_path / "quality.toml", {"splats": Limit(53, 0, 53)})
    return tmp_path


def run(repository: Path, *options: str) -> int:
    """The exit code of `python -m quality`."""
    return command.main(["--repository", str(repository), *options])


def test_the_page_is_checked_until_it_is_written(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--check` says what to run, and nothing when all is in order."""
    assert run(repository, "--check") == 1
    assert "`make quality-table` writes it" in capsys.readouterr().err
    assert run(repository, "--write") == 0
    capsys.readouterr()
    assert run(repository, "--check") == 0
    assert capsys.readouterr() == ("", "")


def test_tightening_writes_the_limits_and_the_page(repository: Path) -> None:
    """Then all is in order until a figure grows, which no tightening allows."""
    assert run(repository, "--tighten") == 0
    assert read_limits(repository / "quality.toml") == {"splats": Limit(40, 0, 40)}
    assert run(repository, "--check") == 0
    (repository / "patchkit").mkdir()
    (repository / "patchkit" / "more.py").write_text("")
    assert run(repository, "--check") == 1
    assert run(repository, "--tighten") == 0
    assert read_limits(repository / "quality.toml") == {"splats": Limit(40, 0, 40)}
    assert run(repository, "--check") == 1


def test_details_name_what_makes_up_a_measure(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has a line; an unknown measure is an error that names those that there are."""
    assert run(repository, "--details", "splats") == 0
    assert capsys.readouterr().out == "a.py:1\na.py:7\n"
    assert run(repository, "--details", "splat") == 1
    assert "found 'splat', expected one of splats" in capsys.readouterr().err
