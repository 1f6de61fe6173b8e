"""Run cells of the table of ways in, and read what happened from bodies and journals."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import overlay
from cells import ON_RAY, ONE, SPECIALS
from packs import NAME, Pack
from patchkit_lab import cluster, generate, processes, scenario, served

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cells import Cell
    from packs import Sight

    from patchkit.analysis.status import ProcessStatus

TIMEOUT = 600
PATCH_OF = {"main": "main-seen", "engine-core": "core-seen", "worker": "worker-seen"}
SCRIPT = str(Path(generate.__file__))
COMMANDS = {
    "script": (SCRIPT,),
    "python -m": ("-m", "patchkit_lab.generate"),
    "Ray actor": ("-m", "patchkit_lab.in_actor"),
    "Ray Serve": ("-m", "patchkit_lab.in_serve"),
}


@dataclass(frozen=True)
class Finding:
    """What one run was seen to do.

    Args:
        answers: the tokens of every request.
        journals: every process that kept one.
        sights: by the name of a body's function, the processes in which it ran.
        main: the pid that the engine's owner says it has; None where nobody says.
        workers: the pids that the workers say they have.
    """

    answers: list[list[int]]
    journals: list[ProcessStatus]
    sights: dict[str, set[Sight]]
    main: int | None = None
    workers: list[int] = field(default_factory=list)

    def holding(self, role: str) -> set[int]:
        """The processes that say they have a role."""
        return {process.pid for process in self.journals if role in process.roles}

    def applied(self, patch: str) -> set[int]:
        """The processes that say they have applied a patch."""
        return {
            process.pid
            for process in self.journals
            if patch in process.patches and process.patches[patch].status == "applied"
        }

    def processes(self, role: str) -> set[Sight]:
        """Where the patch of a role ran."""
        return self.sights.get({"engine-core": "core"}.get(role, role), set())

    def shape(self) -> str:
        """Every process that a role's patch ran in: its roles, how it started, how many."""
        roles: dict[Sight, list[str]] = {}
        for role in PATCH_OF:
            for sight in self.processes(role):
                roles.setdefault(sight, []).append(role)
        kinds = Counter(
            (" + ".join(held), sight.started) for sight, held in roles.items()
        )
        return ", ".join(
            f"{held} ({start}{f', {count}' if count > 1 else ''})"
            for (held, start), count in sorted(
                kinds.items(), key=lambda kind: order(kind[0][0])
            )
        )


def order(held: str) -> int:
    """Main first, workers last."""
    return list(PATCH_OF).index(held.partition(" ")[0])


class Lab:
    """Runs cells, one at a time.

    Args:
        python: of the environment; it has no bootstrap.
        model: to generate with.
        directory: for everything that is written.
    """

    def __init__(self, python: Path, model: Path, directory: Path) -> None:
        self._python = python
        self._model = model
        self._directory = directory
        self._pack = Pack(directory)
        self._stack = ExitStack()
        self._clusters: dict[str, cluster.Cluster] = {}
        self._findings: dict[str, Finding] = {}
        self._bootstrapped: Path | None = None
        served.describe(directory, "0.32.0+cpu")

    def close(self) -> None:
        """Stop every Ray."""
        self._stack.close()

    def find(self, cell: Cell) -> Finding:
        """Run a cell, unless it has been run."""
        if cell.name not in self._findings:
            self._findings[cell.name] = self._run(cell)
        return self._findings[cell.name]

    # -- run ------------------------------------------------------------------------------------

    def _run(self, cell: Cell) -> Finding:
        place = self._directory / cell.name
        place.mkdir()
        self._pack.forget()
        env = self._environment(cell, place)
        if cell.launcher == "vllm serve":
            answers = served.ask(
                self._serve_command(cell),
                self._model,
                env,
                place / "log",
                enough=lambda: self._has_all(cell),
            )
            return self._finding(place, answers)
        outcome = processes.run(self._command(cell), env, TIMEOUT, place / "log")
        report = scenario.report(outcome)
        workers = [worker.pid for worker in report.workers]
        return self._finding(place, [report.tokens], report.main, workers)

    def _has_all(self, cell: Cell) -> bool:
        """Whether the patches ran in as many processes as they should."""
        seen = Finding([], [], self._pack.sights())
        return not cell.special or seen.shape() == expected_shape(cell)

    def _finding(self, place: Path, answers: list[list[int]], *said: Any) -> Finding:
        journals = (
            read_directory(place / "journal") if (place / "journal").exists() else []
        )
        return Finding(answers, journals, self._pack.sights(), *said)

    def _command(self, cell: Cell) -> list[str]:
        words = [
            *self._prefix(cell),
            str(self._interpreter(cell)),
            *COMMANDS[cell.launcher],
        ]
        words += [
            str(self._model),
            *engine_words(cell, "--executor", "--tensor-parallel"),
        ]
        words += {1: ["--patchkit"], 5: ["--runtime-env"]}.get(cell.way, [])
        if cell.way == 6:
            words += ["--object", str(self._thing())]
        return (
            [*words, str(cluster.free_ports(1)[0])]
            if cell.launcher == "Ray Serve"
            else words
        )

    def _serve_command(self, cell: Cell) -> list[str]:
        names = "--distributed-executor-backend", "--tensor-parallel-size"
        words = [*engine_words(cell, *names), *SPECIALS.get(cell.special, ())]
        served_by = self._interpreter(cell)
        return [
            *self._prefix(cell),
            *served.command_line(served_by, self._model, *words),
        ]

    def _prefix(self, cell: Cell) -> list[str]:
        return self._run_prefix() if cell.way == 2 else []

    def _run_prefix(self) -> list[str]:
        return [str(self._python.with_name("patchkit")), "run", "--"]

    def _thing(self) -> Path:
        """An object of a body, as another process pickled it."""
        file = self._directory / "thing"
        code = (
            f"import pickle, sys; from {NAME}.patch_seen import Thing; "
            "sys.stdout.buffer.write(pickle.dumps(Thing()))"
        )
        command = [str(self._python), "-c", code]
        env = processes.environment(self._pack.settings)
        file.write_bytes(
            subprocess.run(command, env=env, capture_output=True, check=True).stdout
        )
        return file

    # -- around it ------------------------------------------------------------------------------

    def _environment(self, cell: Cell, place: Path) -> dict[str, str]:
        own = {"PATCHKIT_JOURNAL": str(place / "journal"), **engine_settings(cell)}
        if cell.way == 4:
            own["PATCHKIT"] = "1"
        if cell.way == 3:
            own["VLLM_PLUGINS"] = "simnpu,patchkit"
        if cell.helper:
            # What the helper finds out is cached there.
            own["VLLM_CACHE_ROOT"] = str(place / "cache")
        layers = [scenario.MACHINE, scenario.BACKEND, self._pack.settings, own]
        if cell.ray:
            layers.append(self._cluster(cell).environment)
        env = processes.environment(*layers)
        if cell.way == 3 and not cell.ray:
            del env["VLLM_PLUGINS"]  # every plugin that is installed
        return env

    def _interpreter(self, cell: Cell) -> Path:
        return self._bootstrap() if cell.way == 4 else self._python

    def _bootstrap(self) -> Path:
        """A Python with the bootstrap; the environment itself stays as it is."""
        if self._bootstrapped is None:
            self._bootstrapped = overlay.make(self._directory / "venv")
            command = [
                str(self._bootstrapped),
                "-m",
                "patchkit",
                "bootstrap",
                "install",
            ]
            subprocess.run(command, check=True, capture_output=True, timeout=600)
        return self._bootstrapped

    def _cluster(self, cell: Cell) -> cluster.Cluster:
        """Ray as the way in asks for it; for most ways its nodes know nothing of patchkit."""
        kind = {2: "run", 4: "bootstrap"}.get(cell.way, "plain")
        if kind == "run" and cell.launcher not in ON_RAY:
            kind = "plain"
        if kind not in self._clusters:
            env = {**scenario.MACHINE, "PYTHONPATH": str(self._directory)}
            if kind != "plain":
                env["PATCHKIT_JOURNAL"] = str(self._directory / f"{kind}-journal")
            if kind == "bootstrap":
                env["PATCHKIT"] = "1"
            prefix = self._run_prefix() if kind == "run" else ()
            made = cluster.started(self._interpreter(cell), env, prefix=prefix)
            self._clusters[kind] = self._stack.enter_context(made)
        return self._clusters[kind]


def engine_words(cell: Cell, executor: str, tensor_parallel: str) -> Iterator[str]:
    """The arguments that make the cell's engine."""
    yield from (executor, "ray" if "Ray" in cell.executor else cell.executor)
    if "Ray" in cell.executor:
        yield from (tensor_parallel, "2")


def engine_settings(cell: Cell) -> dict[str, str]:
    """The environment that makes the cell's engine."""
    settings = {}
    if cell.start == ONE:
        settings["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    elif cell.launcher not in ON_RAY:  # there vLLM takes the choice away
        settings["VLLM_WORKER_MULTIPROC_METHOD"] = cell.start
    if cell.executor == "Ray V1":
        settings["VLLM_USE_RAY_V2_EXECUTOR_BACKEND"] = "0"
    return settings


SPECIAL_SHAPES = {
    "two API servers": "main (spawn, 2), engine-core (fork), worker (fork)",
    "data parallel": "main (command), engine-core (fork, 2), worker (fork, 2)",
    "data parallel on Ray": "main (command), engine-core + worker (ray, 2)",
}


def expected_shape(cell: Cell) -> str:
    """The processes that a cell's engine has, as `Finding.shape` says it."""
    first = "ray" if cell.launcher in ON_RAY else "command"
    if cell.special:
        return SPECIAL_SHAPES[cell.special]
    if cell.start == ONE:
        return f"main + engine-core + worker ({first})"
    if cell.executor == "uni":
        return f"main ({first}), engine-core + worker ({cell.start})"
    worker = "ray, 2" if "Ray" in cell.executor else cell.start
    return f"main ({first}), engine-core ({cell.start}), worker ({worker})"
