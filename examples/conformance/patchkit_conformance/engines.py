"""Runs of real engines, each once however many checks ask for it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from patchkit_lab import cluster, processes, scenario

from patchkit_conformance import release, seen
from patchkit_conformance.results import Failed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from patchkit_conformance.machine import Machine

Thing = TypeVar("Thing")
ERROR = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception)|Exception)\b: \S")
NOISE = re.compile(r"\x1b\[[0-9;]*m|\(\w+ pid=\d+\)")
"""Colours, and who speaks."""


@dataclass(frozen=True)
class Run:
    """An engine that generated.

    Args:
        report: what it says of itself.
        journal: where its processes wrote theirs.
        seconds: how long it took.
    """

    report: scenario.Report
    journal: Path
    seconds: float


@dataclass
class Engines:
    """Runs engines on a machine.

    Args:
        python: the interpreter of the environment.
        machine: how engines are run here.
        directory: for models, logs and journals.
        given: a model to use instead of a tiny one.
    """

    python: Path
    machine: Machine
    directory: Path
    given: Path | None = None
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _kept: dict[str, object] = field(default_factory=dict)

    def close(self) -> None:
        """Stop what was started."""
        self._stack.close()

    def model(self) -> Path:
        """The model: the one given, else a tiny Llama."""
        return self.given or self._once("model", self._made_model)

    def baseline(self) -> list[int]:
        """The tokens to expect: plain vLLM, everything in one process."""
        return self._once("baseline", self._baseline)

    def single(self) -> Run:
        """An engine with patchkit on one device."""
        return self._once(
            "engine", lambda: self._armed("engine", ("--executor", "mp"), {})
        )

    def on_ray(self, executor: str) -> Run:
        """An engine with patchkit on two devices over Ray."""
        return self._once(executor, lambda: self._armed_on_ray(executor, executor, {}))

    def seen(self, executor: str) -> tuple[Run, dict[str, set[int]]]:
        """The same with the pack `seen`; the pids that each role's body noted."""
        file = self.directory / "seen.txt"
        packs = filter(
            None, (self.machine.armed.get("PATCHKIT_PATCHES"), seen.__name__)
        )
        more = {"PATCHKIT_PATCHES": ",".join(packs), seen.VARIABLE: str(file)}
        run = self._armed_on_ray("outsider", executor, more)
        found: dict[str, set[int]] = {}
        for line in file.read_text().splitlines() if file.exists() else ():
            role, pid = line.split()
            found.setdefault(role, set()).add(int(pid))
        return run, found

    def bare(self, executor: str) -> processes.Outcome:
        """The same without patchkit."""
        return self._generate(
            "bare", scenario.RAY, self._ray(executor, self.machine.bare)
        )

    # -- how ------------------------------------------------------------------------------------

    def _armed_on_ray(self, title: str, executor: str, more: Mapping[str, str]) -> Run:
        return self._armed(title, scenario.RAY, {**self._ray(executor, {}), **more})

    def _armed(
        self, title: str, words: tuple[str, ...], more: Mapping[str, str]
    ) -> Run:
        journal = self.directory / f"{title}-journal"
        env = {**self.machine.armed, **more, "PATCHKIT_JOURNAL": str(journal)}
        outcome = self._generate(title, words, env)
        return Run(_report(outcome), journal, outcome.seconds)

    def _generate(
        self, title: str, words: tuple[str, ...], more: Mapping[str, str]
    ) -> processes.Outcome:
        log = self.directory / f"{title}.log"
        flags = ("--patchkit", "--dtype", self.machine.dtype)
        env = {**self.machine.settings, **more}
        return scenario.generate(
            self.python, self.model(), log, *words, *flags, env=env
        )

    def _baseline(self) -> list[int]:
        log = self.directory / "baseline.log"
        words = ("--executor", "uni", "--dtype", self.machine.dtype)
        env = self.machine.single
        outcome = scenario.generate(self.python, self.model(), log, *words, env=env)
        return _report(outcome, "the baseline, plain vLLM in one process,").tokens

    def _made_model(self) -> Path:
        try:
            return scenario.make_model(self.python, self.directory)
        except RuntimeError as error:
            raise Failed("the tiny model was not made", str(error)) from error

    def _ray(self, executor: str, more: Mapping[str, str]) -> dict[str, str]:
        """What makes an engine use the executor over the Ray of this run."""
        ray = self._once("ray", self._started)
        return {**ray.environment, **release.CHOOSE[executor], **more}

    def _started(self) -> cluster.Cluster:
        made = cluster.started(
            self.python, self.machine.settings, self.machine.resources
        )
        try:
            return self._stack.enter_context(made)
        except cluster.ClusterError as error:
            raise Failed("Ray did not start", str(error)) from error

    def _once(self, title: str, make: Callable[[], Thing]) -> Thing:
        """Make a thing once; who asks again gets it, or the same failure."""
        if title not in self._kept:
            try:
                self._kept[title] = make()
            except Failed as failure:
                self._kept[title] = failure
        kept = self._kept[title]
        if isinstance(kept, Failed):
            raise kept
        return cast("Thing", kept)


def _report(outcome: processes.Outcome, what: str = "vLLM") -> scenario.Report:
    """What an engine said.

    Raises:
        Failed: it did not generate.
    """
    try:
        return scenario.report(outcome)
    except RuntimeError as error:
        ended = (
            "its time was over"
            if outcome.status is None
            else f"exit code {outcome.status}"
        )
        title = f"{what} generated no tokens ({ended}): {cause(outcome.output)}"
        raise Failed(title, outcome.tail()) from error


def cause(log: str) -> str:
    """The first error that a log names, in one line."""
    lines = [NOISE.sub("", line).strip() for line in log.splitlines()]
    found = (line for line in lines if ERROR.search(line))
    return next(found, lines[-1] if lines else "no output")[:300]
