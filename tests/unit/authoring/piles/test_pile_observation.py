"""How a pile is observed: by itself, in a child, in which environment, and what was not run."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from authoring.index_of_up import INTO_MINE
from authoring.piles.pile_of_up import (
    A_CLOSURE,
    PROBE,
    PROJECT,
    ROWS,
    World,
    adopt,
    answers,
    both,
    here,
    kinds,
    observed,
    world,
)
from patchkit.authoring.piles.observed import ChildProcess, observe
from patchkit.cli import main
from patchkit.errors import ScaffoldError

__all__ = ["here", "world"]


@pytest.mark.processes
def test_it_observes_by_itself_where_upstream_is(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it cannot be imported, a line says so, and the pile is read alone."""
    (here.folder / "pyproject.toml").write_text(PROJECT.format(dependencies=""))
    here.module("pile.start", dedent(A_CLOSURE))
    words = [word for word in INTO_MINE if word != "--no-observe"]
    assert main(["adopt", "pile", *words, "--dry-run"]) == 0
    assert "observed 1 change: 1 decorated" in capsys.readouterr().out
    here.module("pile.start", "open('was_run', 'w')\n" + dedent(A_CLOSURE))
    init = here.folder / "up" / "__init__.py"
    init.write_text("raise ImportError('no device')\n", "utf-8")
    assert main(["adopt", "pile", *words, "--dry-run"]) == 1
    out, err = capsys.readouterr()
    assert "not observed: up cannot be imported here (ImportError: no device)" in err
    assert "it is set when register runs" in out
    assert main(["adopt", "pile", *words, "--dry-run", "--observe"]) == 2
    assert "--observe: up cannot be imported here" in capsys.readouterr().err
    assert not (here.folder / "was_run").exists()


@pytest.mark.processes
def test_the_report_names_statements_that_were_not_run(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may be for another device, or dead."""
    text = """\
        from up import lib

        def register():
            lib.g = lambda: "new"
            if hasattr(lib, "device"):
                lib.f = None
        """
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["not_run"] == ["pile/start.py:6"]
    assert [place["place"] for place in report["left"]] == ["up.lib.f"]


@pytest.mark.processes
def test_what_threads_of_the_pile_run_was_run(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its statements are in no list, as rows have what they set."""
    text = """\
        from threading import Thread
        from up import lib

        def work():
            lib.g = lambda: "new"

        def register():
            thread = Thread(target=work)
            thread.start()
            thread.join()
        """
    report = observed(here, capsys, {"start": text})
    assert (report["observed"]["not_run"], report["left"]) == ([], [])


@pytest.mark.processes
def test_a_child_that_takes_too_long_is_ended(here: World) -> None:
    """The error says what to do."""
    here.module("up.slow", "import time\ntime.sleep(60)\n")
    child = ChildProcess(here.folder, limit=0.5)
    with pytest.raises(ScaffoldError, match=r"took longer than 0[.]5 s; --no-observe"):
        observe([], ["up.slow"], [], ["up"], child)


def test_releases_come_from_the_pile_s_metadata(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it pins one, and none is named."""
    project = PROJECT.format(dependencies='"up[all]==1.0"')
    (here.folder / "pyproject.toml").write_text(project, "utf-8")
    here.module("pile.start", "from up.lib import C\nC.new = 1\n")
    words = ["adopt", "pile", "--into", "mine", "--of", "up", "--no-observe"]
    assert main([*words, "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "pile requires up==1.0" in err
    assert "for up==1.0" in out


@pytest.mark.processes
def test_the_python_of_another_environment(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The child runs there; one that cannot be started is an error."""
    here.module("pile.start", dedent(A_CLOSURE))
    words = ["adopt", "pile", *INTO_MINE, "--observe", "--call", "pile.start:register"]
    assert main([*words, "--python", sys.executable, "--dry-run"]) == 0
    assert "1 decorated" in capsys.readouterr().out
    assert main([*words, "--python", "/no/python", "--dry-run"]) == 2
    assert "--python: cannot start /no/python" in capsys.readouterr().err
