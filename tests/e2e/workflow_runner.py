"""
A simulation of GitHub's runner, as thin as can be: steps are run by bash, one after another.

It knows what the workflows of docs/watch.md need, as GitHub documents it, and refuses all else:
shells, contexts in `${{ }}`, the environment of workflow, job and step, the files by which a step
sets variables and outputs. A step that `uses` an action is done by `ACTIONS`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Action = Callable[[Path, dict[str, str]], None]

_EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")
_SHELLS = {None: ["bash", "-e"], "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}
_STEP_KEYS = {"name", "id", "uses", "with", "run", "env"}
TIMEOUT = 600


class WorkflowError(Exception):
    """A workflow has what GitHub would refuse, or what this runner does not know."""


@dataclass
class Job:
    """
    What became of a job.

    Args:
        outputs: those that it declares.
        failed: the name of the step that failed, '' where none did.
        log: what all steps said.
        summary: what they wrote for the page of the run.

    """

    outputs: dict[str, str] = field(default_factory=dict)
    failed: str = ""
    log: str = ""
    summary: str = ""


@dataclass
class Runner:
    """
    Runs jobs of one workflow.

    Args:
        workflow: as read from YAML.
        home: an empty folder for workspaces.
        actions: does what a step `uses`, by its name without version; told the workspace and the
            environment, which it may change.
        environ: of every step.
        before: for a step's name, what its environment and that of all later ones gets.
        github: the context of that name.

    """

    workflow: Mapping[str, Any]
    home: Path
    actions: Mapping[str, Action]
    environ: Mapping[str, str]
    before: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    github: Mapping[str, str] = field(default_factory=dict)

    def run(self, name: str, **contexts: Any) -> Job:
        """Run one job of its matrix; `contexts` are `matrix` and `needs`."""
        job, done = self.workflow["jobs"][name], Job()
        place = self.home / f"{name}-{len(list(self.home.iterdir()))}"
        (place / "workspace").mkdir(parents=True)
        known = {"github": self.github, "steps": {}, **contexts}
        environ = {**self.environ, "RUNNER_TEMP": str(place), "GITHUB_ACTIONS": "true"}
        for holder in (self.workflow, job):
            environ.update(_filled(holder.get("env", {}), known))
        for step in job["steps"]:
            if unknown := set(step) - _STEP_KEYS:
                raise WorkflowError(f"a step with {unknown}")
            label = step.get("name", step.get("id", step.get("uses", step.get("run"))))
            environ.update(self.before.get(label, {}))
            if not self._step(step, place, environ, known, done):
                done.failed = label
                return done
        done.outputs = _filled(job.get("outputs", {}), known)
        return done

    def _step(
        self,
        step: Mapping[str, Any],
        place: Path,
        environ: dict[str, str],
        known: dict[str, Any],
        done: Job,
    ) -> bool:
        if "uses" in step:
            self.actions[step["uses"].partition("@")[0]](place / "workspace", environ)
            return True
        names = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        files = {name: place / name for name in names}
        for file in files.values():
            file.write_text("")
        paths = {name: str(file) for name, file in files.items()}
        own = {**environ, **_filled(step.get("env", {}), known), **paths}
        code, said = self._bash(step["run"], place, own)
        done.log += said
        done.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        environ.update(_assigned(files["GITHUB_ENV"].read_text()))
        if "id" in step:
            known["steps"][step["id"]] = {"outputs": _assigned(files["GITHUB_OUTPUT"].read_text())}
        return code == 0

    def _bash(self, text: str, place: Path, environ: Mapping[str, str]) -> tuple[int, str]:
        script = place / "step.sh"
        script.write_text(text)
        shell = self.workflow.get("defaults", {}).get("run", {}).get("shell")
        ended = subprocess.run(
            [*_SHELLS[shell], str(script)],
            env=dict(environ),
            cwd=place / "workspace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        return ended.returncode, f"$ {text}{ended.stdout}"


def _filled(texts: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, str]:
    """Put in what expressions stand for."""
    return {
        name: _EXPRESSION.sub(lambda found: _value(found[1], known), str(text))
        for name, text in texts.items()
    }


def _value(path: str, known: Mapping[str, Any]) -> str:
    value: Any = known
    for part in path.split("."):
        if part not in value:
            raise WorkflowError(f"${{{{ {path} }}}} is nothing here")  # GitHub makes it ''
        value = value[part]
    return str(value)


def _assigned(text: str) -> dict[str, str]:
    """Read `name=value` lines, as GitHub does; it refuses a line that is none."""
    lines = text.splitlines()
    if bad := [line for line in lines if not re.match(r"\w+=", line)]:
        raise WorkflowError(f"invalid format {bad[0]!r}")
    return dict(line.split("=", 1) for line in lines)


def path_with(folder: Path, environ: Mapping[str, str]) -> str:
    """PATH with a folder at its front."""
    return os.pathsep.join([str(folder), environ["PATH"]])
