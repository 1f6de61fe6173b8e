"""Rows that call a function of a pile which nobody imports any more: they import it themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.piles.pile_of_up import (
    PROBE,
    ROWS,
    START,
    World,
    adopt,
    both,
    here,
    kinds,
    observed,
    world,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["here", "world"]

IN_PLACE = "from up import lib\n\n\ndef {name}():\n    del lib.TABLE['a']\n"
"""What only a call can do: nothing is set that could be taken from it."""
CALLED_AT_IMPORT: Mapping[str, str] = {
    "helper": IN_PLACE.format(name="clear"),
    "start": "from pile.helper import clear\n\nclear()\n\n\ndef register():\n    pass\n",
}


@pytest.mark.processes
def test_a_call_of_an_entry_point_is_made_although_nobody_imports_the_pile(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the entry point is gone, or a plugin loader leaves it out, a second row imports it."""
    report = observed(here, capsys, {"start": IN_PLACE.format(name="register")})
    assert list(kinds(report)) == ["pile-start-register", "begin-pile-start-register"]
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == theirs
    assert here.answer(f"import up.lib\n{ROWS}{PROBE}") == theirs
    assert here.answer(f"{ROWS}import up.user\n{START}{PROBE}") == theirs


@pytest.mark.processes
def test_a_call_that_a_module_makes_as_it_is_imported(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever imported the module made the call; now the rows do, whoever comes."""
    report = observed(here, capsys, CALLED_AT_IMPORT)
    assert list(kinds(report)) == ["pile-helper-clear", "begin-pile-helper-clear"]
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == theirs


@pytest.mark.processes
def test_a_function_that_is_called_begin(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What imports its module gets another name in the body."""
    words = ("--observe", "--call", "pile.start:begin")
    report = adopt(here, capsys, {"start": IN_PLACE.format(name="begin")}, *words)
    assert list(kinds(report)) == ["pile-start-begin", "begin-pile-start-begin"]
    start = "import pile.start\npile.start.begin()\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == theirs
    assert here.answer(f"{ROWS}{start}{PROBE}") == theirs


@pytest.mark.processes
@pytest.mark.parametrize("indent", ["", "    "])
def test_the_import_waits_for_what_upstream_is_importing(
    here: World, capsys: pytest.CaptureFixture[str], indent: str
) -> None:
    """The target's module is done long before the one that imports it, and the pile needs both."""
    here.module("up.top", "from up import lib\n\n\ndef word():\n    return 'a'\n")
    lines = [
        f"{indent}from up.top import word",
        "    from up import lib",
        "    lib.TABLE.pop(word())",
    ]
    lines.insert(int(not indent), "def register():")
    report = observed(here, capsys, {"start": "\n".join(lines)})
    assert report["left"] == []
    assert set(kinds(report)) == {"pile-start-register", "begin-pile-start-register"}
    import_it = "import up.top\n"
    theirs = here.answer(f"{import_it}{START}{PROBE}", PATCHKIT="0")
    # Not `applied`, which imports the targets itself.
    arm = f"import patchkit.auto\n{import_it}"
    assert here.answer(f"{arm}{PROBE}", PATCHKIT_PATCHES="mine") == theirs
    assert here.answer(f"{arm}{START}{PROBE}", PATCHKIT_PATCHES="mine") == theirs


@pytest.mark.processes
def test_a_call_is_made_although_nobody_imports_the_pile(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second row imports the module that the first one waits for, whoever comes first."""
    text = "from up import lib\n\n\ndef put():\n    del lib.TABLE['a']\n"
    words = ("--observe", "--call", "pile.start:put")
    report = adopt(here, capsys, {"start": text}, *words)
    assert list(kinds(report)) == ["pile-start-put", "begin-pile-start-put"]
    start = "import pile.start\npile.start.put()\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == theirs
    assert here.answer(f"{ROWS}{start}{PROBE}") == theirs
    assert here.answer(f"import up.lib\n{ROWS}{PROBE}") == theirs
