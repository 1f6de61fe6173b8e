"""`patchkit bisect`: find the patch, or the smallest set of them, that makes a command fail."""

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

_FIELDS_OF_RUN = ("patches", "exit", "seconds", "failed")
_LAST_BAD_EXIT_CODE = 127
_ENDED_ON_PURPOSE = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGQUIT)


@click.command(
    "bisect",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument(
    "argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND..."
)
@click.option(
    "--patch",
    "names",
    metavar="NAME",
    multiple=True,
    help="Suspect this patch; the others stay applied. Repeatable.",
    shell_complete=options.complete_names,
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Runs before a set is good.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="For one run.",
)
@click.option(
    "--resume", is_flag=True, help="Continue where this command was interrupted."
)
@options.patches_option
@options.format_option
def command(
    argv: tuple[str, ...],
    names: tuple[str, ...],
    runs: int,
    timeout: float | None,
    resume: bool,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Find the patch, or the smallest set of patches, that makes a command fail.

    The command must fail with all patches that apply here and pass with none of them. Its exit
    code judges a set: 0 is good, 125 skips the set, any other code up to 127 is bad, and one above
    127 ends the search. A crash such as SIGSEGV and a timeout are bad, too. Results and the output
    of each run are in .patchkit-bisect. Exit code 1 means that culprits were found.

    \b
    Examples:
      patchkit bisect -- python compare_tokens.py
      patchkit bisect --runs 3 --timeout 300 -- ./smoke.sh
      patchkit bisect --patch one --patch other -- pytest -x test_it.py
      patchkit bisect --resume -- python compare_tokens.py
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    registry, selection = options.rows_and_selection(packs, vllm=None)
    rows = [row for row in registry if selection.reason_to_skip(row) is None]
    suspects = _suspects(rows, names)
    facts = {
        "command": list(argv),
        "timeout": timeout,
        "suspects": suspects,
        **_identity(rows),
    }
    trials = _Trials(facts, runs, (*Settings.read().packs, *packs))
    trials.begin(resume=resume)
    search = Search(suspects, {row.name: row.patch.after for row in rows}, trials.fails)
    trials.expect("passes", (), "none")
    failing = search.minimal()
    # If the command passes even with all patches, `expect` raises.
    if not failing:
        trials.expect("fails", suspects, "all")
    culprits = search.removable(failing)
    accompanying = [
        name for name in suspects if name in failing and name not in culprits
    ]
    if form == "json":
        click.echo(bisect_json(culprits, accompanying, trials.runs))
    else:
        print_bisection(
            culprits, accompanying, trials.judged_runs(), str(trials.folder)
        )
    return 1


def _identity(rows: Sequence[Row]) -> dict[str, Any]:
    """Return fingerprints of patches and packs; a search can be resumed only if they are equal."""
    patches = {row.name: fingerprint(row) for row in rows}
    packs = sorted({row.pack for row in rows})
    return {"patches": patches, "packs": {pack: modules_digest(pack) for pack in packs}}


def _suspects(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return the names of the patches that may make the command fail, in their order.

    These are the named patches, and patches that need one of them; without names, all patches.

    Args:
        rows: The patches that apply here.
        names: The names of the command line.

    Raises:
        UsageError: A named patch does not apply here.
        BisectionError: No patch applies here.
    """
    suspects: dict[str, None] = {}
    for row in rows:  # each comes after those in its `after`
        if not names or row.name in names or suspects.keys() & set(row.patch.after):
            suspects[row.name] = None
    missing = [name for name in names if name not in suspects]
    if missing:
        expected = "expected a patch that applies here; 'patchkit list --all' says why one does not"
        raise click.UsageError(f"--patch: found {missing[0]!r}, {expected}")
    if not suspects:
        raise BisectionError("no patch applies here; 'patchkit list --all' says why")
    return list(suspects)


class _Trials:
    """Runs the command with sets of patches, and stores each run on disk before the next one.

    Args:
        facts: What must not change if a search is resumed: the command, the timeout, the suspects,
            and fingerprints of patches and packs.
        times: How often the command has to pass with a set of patches for the set to be good.
        packs: The packs that the command reads besides the installed ones.
    """

    def __init__(self, facts: dict[str, Any], times: int, packs: Sequence[str]) -> None:
        name = hashlib.sha256(json.dumps(facts["command"]).encode()).hexdigest()[:12]
        self.folder = Path(HOME, name)
        self.runs: list[dict[str, Any]] = []
        self._file = self.folder / "state.json"
        self._facts = facts
        self._suspects: list[str] = facts["suspects"]
        self._times = times
        self._packs = packs

    def begin(self, *, resume: bool) -> None:
        """Begin a search, or resume the one on disk.

        Args:
            resume: Whether to resume.

        Raises:
            BisectionError: There is no search to resume, or its facts were others.
        """
        try:
            if resume:
                self.runs = self._runs_in(json.loads(self._file.read_text("utf-8")))
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write()
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = "; found no bisect of this command to resume" if resume else ""
            raise BisectionError(f"{self._file}: {error}{hint}") from error
        say(f"{count(len(self.runs), 'run')} known, in {self._file}")
        # As with Ctrl-C, the running command is ended, and the search can be resumed.
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)

    def fails(self, patches: frozenset[str]) -> bool:
        """Return whether the command fails with a set of patches.

        Args:
            patches: The names of the patches.

        Raises:
            BisectionError: The command cannot be run, or was ended by the user.
        """
        return "bad" in self._verdicts(patches)

    def expect(self, expected: str, patches: Iterable[str], which: str) -> None:
        """Check that the command passes, or fails, with a set of patches.

        A search makes sense only if it passes with none of the suspects, and fails with all.

        Args:
            expected: `passes` or `fails`.
            patches: The names of the patches.
            which: Which of the suspects they are, for the message: `none` or `all`.

        Raises:
            BisectionError: The command does not do what is expected.
        """
        verdicts = self._verdicts(frozenset(patches))
        result = "passes"
        if "bad" in verdicts:
            result = "fails"
        elif "skipped" in verdicts:
            result = "cannot be judged"
        if result != expected:
            suspects = count(len(self._suspects), "suspected patch")
            raise BisectionError(
                f"with {which} of the {suspects} the command {result}, expected that it "
                f"{expected}; its output is in {self.folder}"
            )

    def judged_runs(self) -> list[tuple[dict[str, Any], str]]:
        """Return the runs in order, each with its verdict: `good`, `bad` or `skipped`."""
        return [(run, self._judge(run)) for run in self.runs]

    def _verdicts(self, patches: frozenset[str]) -> list[str]:
        """Return the verdicts on a set of patches, from stored runs and as many new ones as needed.

        One bad run is enough; for a good set, the command has to pass as often as asked for.
        """
        # Stored runs have the names in the order of the suspects.
        chosen = [name for name in self._suspects if name in patches]
        verdicts = [self._judge(run) for run in self.runs if run["patches"] == chosen]
        while len(verdicts) < self._times and all(
            verdict == "good" for verdict in verdicts
        ):
            verdicts.append(self._judge(self._run(chosen)))
        return verdicts

    def _judge(self, run: dict[str, Any]) -> str:
        """Return the verdict on a run.

        If patches could not be applied in the run, the verdict depends on whether the same ones
        failed in the first run with all suspects.
        """
        if not run["failed"]:
            return judged(run)
        return judged(run, self._run_with_all()["failed"])

    def _run_with_all(self) -> dict[str, Any]:
        """Return the first run with all suspects; run the command if there is none yet."""
        for run in self.runs:
            if run["patches"] == self._suspects:
                return run
        return self._run(self._suspects)

    def _run(self, chosen: list[str]) -> dict[str, Any]:
        """Run the command with some of the suspects, store the run on disk, and return it.

        Raises:
            BisectionError: The command cannot be run, was ended by the user, or asks by its exit
                code for the end of the search.
        """
        number = len(self.runs) + 1
        log = self.folder / f"{number}.log"
        journal = log.with_suffix(".journal")
        environ = environment_here(self._packs, str(journal))
        excluded = [name for name in self._suspects if name not in chosen]
        environ["PATCHKIT_DISABLE"] = ",".join((*Settings.read().disabled, *excluded))
        code, seconds = run_alone(
            self._facts["command"], environ, log, self._facts["timeout"]
        )
        summary = f"run {number}: {count(len(chosen), 'patch')}, exit {code}"
        if code > _LAST_BAD_EXIT_CODE or code in _ENDED_ON_PURPOSE:
            hint = "--resume goes on from the runs before"
            raise BisectionError(f"{summary} ends the search, see {log}; {hint}")
        say(f"{summary} after {seconds:.1f} s")
        run = {
            "patches": chosen,
            "exit": code,
            "seconds": round(seconds, 3),
            "failed": _failed_patches(journal),
        }
        self.runs.append(run)
        self._write()
        return run

    def _write(self) -> None:
        """Store the facts and all runs, by a rename, so that the file is always complete."""
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps({**self._facts, "runs": self.runs}), "utf-8")
        draft.replace(self._file)

    def _runs_in(self, state: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the runs of a stored search.

        Args:
            state: The content of the file.

        Raises:
            BisectionError: The facts of that search were others.
            KeyError: Something is missing in it.
        """
        for key, value in self._facts.items():
            if state[key] != value:
                difference = (
                    f"{key}: found others than those of the runs in {self._file}"
                )
                raise BisectionError(f"{difference}; start anew, without --resume")
        return [_run_of(entry) for entry in state["runs"]]


def _run_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a stored run; KeyError if one is missing."""
    return {field: entry[field] for field in _FIELDS_OF_RUN}


def _failed_patches(journal: Path) -> list[str]:
    """Return the names of the patches that could not be applied in a process of a run."""
    names: set[str] = set()
    for process in read_directory(journal):
        for patch in process.patches.values():
            if patch.status == "failed":
                names.add(patch.name)
    return sorted(names)
