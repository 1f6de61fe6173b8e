"""`patchkit bisect`: which patch, or which smallest set of them, makes a command fail."""

import hashlib
import json
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from patchkit.analysis.bisection import Search, judged
from patchkit.analysis.status import read_directory
from patchkit.cli import options
from patchkit.cli.commands.run import environment_here
from patchkit.cli.output import say
from patchkit.cli.report.as_json import bisect_json
from patchkit.cli.report.doctor import print_bisection
from patchkit.cli.report.words import count
from patchkit.cli.trial import run_alone
from patchkit.core.rows.declaration import Row
from patchkit.errors import BisectionError
from patchkit.runtime.process.patch_set import fingerprint, modules_digest
from patchkit.settings import Settings

HOME = ".patchkit-bisect"

_KEPT = ("patches", "exit", "seconds", "failed")
_LAST_BAD = 127
_ENDED_BY_SOMEBODY = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGQUIT)


@click.command(
    "bisect", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option(
    *("--patch", "names"),
    metavar="NAME",
    multiple=True,
    help="Suspect this patch; the others stay applied. Repeatable.",
    shell_complete=options.complete_names,
)
@click.option(
    "--runs", type=click.IntRange(1), default=1, metavar="N", help="Runs before a set is good."
)
@click.option("--timeout", type=click.FloatRange(0, min_open=True), help="Seconds for one run.")
@click.option("--resume", is_flag=True, help="Go on where this command was interrupted.")
@options.patches_option
@options.format_option
def command(
    words: tuple[str, ...],
    names: tuple[str, ...],
    runs: int,
    timeout: float | None,
    resume: bool,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Find the patch, or the smallest set of them, that makes a command fail.

    The command has to fail with all patches that apply here and pass with none of them. Its exit
    code judges a set: 0 good, 125 skipped, others to 127 bad; above 127 ends the search. Bad too:
    it is killed by a fault such as SIGSEGV, or by --timeout. What is known, and the output of each
    run, is in .patchkit-bisect. Exit code 1 means that culprits were found.

    \b
    Examples:
      patchkit bisect -- python compare_tokens.py
      patchkit bisect --runs 3 --timeout 300 -- ./smoke.sh
      patchkit bisect --patch one --patch other -- pytest -x test_it.py
      patchkit bisect --resume -- python compare_tokens.py
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    every, selection = options.rows_and_selection(packs, None)
    rows = [row for row in every if selection.reason_to_skip(row) is None]
    order = _suspects(rows, names)
    facts = {"command": list(words), "timeout": timeout, "suspects": order, **_identity(rows)}
    trials = _Trials(facts, runs, (*Settings.read().packs, *packs))
    trials.begin(resume=resume)
    search = Search(order, {row.name: row.patch.after for row in rows}, trials.fails)
    trials.expect("passes", (), "none")
    failing = search.minimal()
    if not failing:
        trials.expect("fails", order, "all")
    culprits = search.last(failing)
    beside = [name for name in order if name in failing and name not in culprits]
    if form == "json":
        click.echo(bisect_json(culprits, beside, trials.runs))
    else:
        print_bisection(culprits, beside, trials.judged_runs(), str(trials.folder))
    return 1


def _identity(rows: Sequence[Row]) -> dict[str, Any]:
    packs = {name: modules_digest(name) for name in sorted({row.pack for row in rows})}
    return {"patches": {row.name: fingerprint(row) for row in rows}, "packs": packs}


def _suspects(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Name the patches to search in, in order: those named, and those that come after them."""
    suspects: dict[str, None] = {}
    for row in rows:
        if not names or row.name in names or suspects.keys() & set(row.patch.after):
            suspects[row.name] = None
    if missing := [name for name in names if name not in suspects]:
        expected = "expected a patch that applies here; 'patchkit list --all' says why one does not"
        raise click.UsageError(f"--patch: found {missing[0]!r}, {expected}")
    if not suspects:
        raise BisectionError("no patch applies here; 'patchkit list --all' says why")
    return list(suspects)


class _Trials:
    """Runs the command with sets of patches; each run is on disk before the next begins."""

    def __init__(self, facts: dict[str, Any], times: int, packs: Sequence[str]) -> None:
        name = hashlib.sha256(json.dumps(facts["command"]).encode()).hexdigest()[:12]
        self.folder, self._facts, self._times, self._packs = Path(HOME, name), facts, times, packs
        self._file = self.folder / "state.json"
        self.runs: list[dict[str, Any]] = []

    def begin(self, *, resume: bool) -> None:
        """Start a state, or go on from the one that is there; BisectionError if it does not fit."""
        try:
            if resume:
                self.runs = self._known(json.loads(self._file.read_text("utf-8")))
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write()
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = "; found no bisect of this command to resume" if resume else ""
            raise BisectionError(f"{self._file}: {error}{hint}") from error
        say(f"{count(len(self.runs), 'run')} known, in {self._file}")
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)

    def fails(self, patches: frozenset[str]) -> bool:
        """Say whether the command fails with a set."""
        return "bad" in self._told(patches)

    def expect(self, expected: str, patches: Iterable[str], which: str) -> None:
        """Raise BisectionError unless the command ends as it must for a search."""
        told = self._told(frozenset(patches))
        found = "fails" if "bad" in told else "cannot be judged" if "skipped" in told else "passes"
        if found != expected:
            patches = f"{which} of the {count(len(self._facts['suspects']), 'suspected patch')}"
            raise BisectionError(
                f"with {patches} the command {found}, expected that it {expected}; "
                f"its output is in {self.folder}"
            )

    def judged_runs(self) -> list[tuple[dict[str, Any], str]]:
        """List the runs in order, each with what it says of its set."""
        return [(run, self._judge(run)) for run in self.runs]

    def _told(self, patches: frozenset[str]) -> list[str]:
        """Run the command until a set is judged; runs that are known count."""
        chosen = [name for name in self._facts["suspects"] if name in patches]
        told = [self._judge(run) for run in self.runs if run["patches"] == chosen]
        while told.count("good") == len(told) < self._times:
            told.append(self._judge(self._run(chosen)))
        return told

    def _judge(self, run: dict[str, Any]) -> str:
        """Judge a run; where patches failed in it, beside the first run with all of them."""
        if not run["failed"]:
            return judged(run)
        suspects = self._facts["suspects"]
        with_all = next((earlier for earlier in self.runs if earlier["patches"] == suspects), None)
        if with_all is None:
            with_all = self._run(suspects)
        return judged(run, with_all["failed"])

    def _run(self, chosen: list[str]) -> dict[str, Any]:
        log = self.folder / f"{len(self.runs) + 1}.log"
        environ = environment_here(self._packs, str(journal := log.with_suffix(".journal")))
        out = [name for name in self._facts["suspects"] if name not in chosen]
        environ["PATCHKIT_DISABLE"] = ",".join((*Settings.read().disabled, *out))
        code, seconds = run_alone(self._facts["command"], environ, log, self._facts["timeout"])
        told = f"run {len(self.runs) + 1}: {count(len(chosen), 'patch')}, exit {code}"
        if code > _LAST_BAD or code in _ENDED_BY_SOMEBODY:
            kept = "--resume goes on from the runs before"
            raise BisectionError(f"{told} ends the search, see {log}; {kept}")
        say(f"{told} after {seconds:.1f} s")
        every = (one for process in read_directory(journal) for one in process.patches.values())
        failed = sorted({patch.name for patch in every if patch.status == "failed"})
        run = {"patches": chosen, "exit": code, "seconds": round(seconds, 3), "failed": failed}
        self.runs.append(run)
        self._write()
        return run

    def _write(self) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps({**self._facts, "runs": self.runs}), "utf-8")
        draft.replace(self._file)

    def _known(self, state: dict[str, Any]) -> list[dict[str, Any]]:
        for key, value in self._facts.items():
            if state[key] != value:
                there = f"{key}: found others than those of the runs in {self._file}"
                raise BisectionError(f"{there}; start anew, without --resume")
        return [{key: run[key] for key in _KEPT} for run in state["runs"]]
