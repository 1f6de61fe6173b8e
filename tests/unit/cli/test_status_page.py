"""`patchkit status` for a person: the page, `--watch`, and one patch in full."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import pytest
from analysis.status.told import child, engine, journal, line, patch, role
from support import packages

from cli import journaled
from cli.journaled import answered
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.packages import World

written = journaled.written

world = packages.world


def page(capsys: pytest.CaptureFixture[str], place: Path) -> str:
    """Return the page of `status`, and check that it fits into 80 columns.

    The folder of the journals, which is as long as it is here, is left out.
    """
    main(["status", str(place)])
    out = capsys.readouterr().out
    assert all(len(text) <= 80 for text in out.replace(str(place), "").splitlines())
    return out


def test_the_tree_is_drawn(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page draws processes as a tree, with ranks of workers, and has the agreement by role."""
    monkeypatch.setenv("COLUMNS", "80")
    out = page(capsys, written(*engine()))
    lines = [text.rstrip() for text in out.splitlines()]
    begin = next(
        number for number, text in enumerate(lines) if text.startswith("process")
    )
    assert [text[:16].rstrip() for text in lines[begin + 1 : begin + 5]] == [
        "main  script.py",
        "└─ engine-core",
        "   ├─ worker 0",
        "   └─ worker 1",
    ]
    assert "agreement  main yes, engine-core yes, worker yes" in out
    assert "applied 1, armed 1" not in out


def test_many_alike_are_one_line(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Workers that stand alike share a line, and a worker that differs has one of its own."""
    monkeypatch.setenv("COLUMNS", "80")
    journals = engine(40)
    name = next(iter(journals[20]))
    journals[20][name] += patch("two", "failed", "ValueError: no")
    out = page(capsys, written(*journals))
    assert "worker 0-17 ×18" in out  # noqa: RUF001
    assert "worker 18  " in out
    assert "worker 19-39 ×21" in out  # noqa: RUF001
    assert "applied 39, failed 1" in out
    assert "worker no" in out


def test_what_became_of_the_patches_is_shown_at_80_columns(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 80 columns long names of processes are cut, and what became of the patches is not. Ray
    gives such names to its workers.
    """
    monkeypatch.setenv("COLUMNS", "80")
    argv = ["ray::RayWorkerWrapper.execute_method"]
    entries = [role("worker"), patch("one", "applied"), patch("two", "skipped", "x")]
    workers = [
        journal(30 + rank, *entries, host=f"gpu-node-{rank}", argv=argv)
        for rank in range(2)
    ]
    lines = page(capsys, written(*workers)).splitlines()
    process_lines = [text for text in lines if "gpu-node" in text][:2]
    assert len(process_lines) == 2
    assert all(text.endswith("1 applied, 1 skipped") for text in process_lines)


@pytest.mark.processes
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_long_chain_of_parents_is_shown(
    written: Callable[..., Path], world: World, form: str
) -> None:
    """Two thousand journals that each name another as the parent are only a deep tree."""
    chain = [
        journal(10 + number, role("main"), at=number, ppid=9 + number)
        for number in range(2000)
    ]
    place = written(*chain)
    done = world.run("-m", "patchkit", "status", str(place), "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2009" in done.stdout


def test_a_process_that_is_its_own_child_is_shown_once(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A process whose journal names it as its own child is shown once."""
    place = written(journal(13, role("main"), child(13, "x", "main")))
    assert main(["status", str(place)]) == 0
    assert capsys.readouterr().out.count("main  script.py") == 1


def test_helpers_are_shown_with_their_command_line(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that another one started without `multiprocessing` shows its command line."""
    helper = journal(8, role("main"), at=1, ppid=7, argv=["-m", "vllm.registry"])
    assert main(["status", str(written(journal(7, role("main")), helper))]) == 0
    assert "main  vllm.registry " in capsys.readouterr().out


def test_texts_of_others_stay_on_their_line(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Line ends of an error become spaces, and its escape sequences are spelt out."""
    monkeypatch.setenv("COLUMNS", "80")
    failed = patch("one", "failed", "Error: a\n  b\x1b[2J")
    out = page(capsys, written(journal(7, role("main"), failed)))
    assert "Error: a b\\x1b[2J" in out


def test_watch_ends_with_the_main_process(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--watch` ends when the main process has, and leaves its last page on the screen."""
    host = os.uname().nodename
    place = written(journal(7, role("main"), host=host, began=1))
    assert main(["status", "--watch", str(place)]) == 0
    printed = capsys.readouterr()
    assert "ended" in printed.out
    assert printed.err == "patchkit: the main process has ended\n"


def test_watch_ends_when_the_user_says_so(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An interrupt ends `--watch` with 0. Before, it waits for the first journal, and goes on while
    the process runs.
    """
    place = written()
    steps = iter([lambda: written(*journals_of_parent()), lambda: None, interrupt])
    monkeypatch.setattr("patchkit.cli.watching.time.sleep", lambda _: next(steps)())
    assert main(["status", "--watch", str(place)]) == 0
    assert "main" in capsys.readouterr().out


def journals_of_parent() -> list[dict[str, bytes]]:
    """The journal of a process that runs: this one's parent."""
    pid = os.getppid()
    return [journal(pid, role("main"), host=os.uname().nodename, began=None)]


def interrupt() -> None:
    """Interrupt as a user does with Ctrl-C."""
    raise KeyboardInterrupt


# -- copies ----------------------------------------------------------------------------------------

COPIES = [
    patch(
        "one",
        "applied",
        module="m",
        rebound=["a:f", "b:f"],
        out_of_reach=["c:g (default of x)"],
        layers={"m:f": ["one", "two"]},
        untraced={"m:K": "a int"},
    ),
]


def test_copies_are_counted_and_named_for_one_patch(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The page counts copies that were repointed or are out of reach; `--patch` names them."""
    place = str(
        written(journal(7, role("main"), *COPIES), journal(8, role("worker"), *COPIES))
    )
    main(["status", place])
    assert "2 repointed, 1 out of reach" in capsys.readouterr().out
    assert main(["status", place, "--patch", "one"]) == 0
    out = capsys.readouterr().out
    for words in ("m:f  one < two", "a:f", "b:f", "c:g (default of x)", "m:K: a int"):
        assert out.count(words) == 1
    (first_patch, _) = answered(capsys, place)["processes"][0]["patches"]
    assert first_patch["layers"] == {"m:f": ["one", "two"]}
    assert first_patch["rebound"] == ["a:f", "b:f"]


def test_where_nothing_was_repointed_there_is_no_column(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The page has no column of copies where no patch has repointed any."""
    main(["status", str(written(journal(7, role("main"), patch("one", "applied"))))])
    assert "copies" not in capsys.readouterr().out


def test_the_age_of_the_last_verification_is_shown(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`status` says how long ago a process verified its patches, or nothing if it never did."""
    now = time.time()
    host, pid = os.uname().nodename, os.getppid()
    looked = line("verified", time=now - 40)
    running = journal(pid, role("main"), looked, host=host, began=None)
    place = str(written(running, journal(8, role("main"))))
    processes = answered(capsys, place)["processes"]
    ages = {process["pid"]: process["verified"] for process in processes}
    assert ages[8] is None
    assert 40 <= ages[pid] < 100
    main(["status", place])
    assert re.search(r"running +4\d s ago", capsys.readouterr().out)


def test_a_change_that_was_left_out_is_shown_with_its_reason(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--patch` names the target of a change that was left out, and the reason."""
    left = line("left-out", name="one", target="m:g", reason="no such kernel here")
    place = str(written(journal(7, role("main"), left, *COPIES)))
    assert main(["status", place, "--patch", "one"]) == 0
    assert "m:g: no such kernel here" in capsys.readouterr().out


def test_a_patch_that_failed_or_was_skipped_is_shown_with_the_cause(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--patch` names each process in which the patch failed or was skipped, with the cause."""
    failed = journal(7, role("main"), patch("one", "failed", "ValueError: no"))
    skipped = journal(
        8, role("worker"), patch("one", "skipped", "ray is not installed")
    )
    assert main(["status", str(written(failed, skipped)), "--patch", "one"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"main +7 +failed +ValueError: no", out)
    assert re.search(r"worker +8 +skipped +ray is not installed", out)


def test_a_patch_that_no_journal_has_is_wrong_use(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown name for `--patch` is exit code 2, and the error lists the known names."""
    place = str(written(journal(7, role("main"))))
    assert main(["status", place, "--patch", "three"]) == 2
    assert "found 'three', expected a patch's name: one, two" in capsys.readouterr().err


def test_what_was_not_reviewed_is_a_remark_and_no_finding(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """An unreviewed patch is no finding: the page remarks on it, `--patch` and JSON say why."""
    remark = line("unreviewed", name="one", reason="f has another source")
    applied = patch("one", "applied")
    place = str(
        written(
            journal(7, role("main"), remark, applied), journal(8, role("main"), applied)
        )
    )
    assert main(["status", place]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [text for text in lines if text.startswith("one ")]
    assert row.endswith("differs from the review, see --patch")
    assert main(["status", place, "--patch", "one"]) == 0
    out = capsys.readouterr().out
    assert "not reviewed  f has another source  in 7" in out
    processes = answered(capsys, place)["processes"]
    reasons = [process["patches"][0]["unreviewed"] for process in processes]
    assert reasons == ["f has another source", ""]
