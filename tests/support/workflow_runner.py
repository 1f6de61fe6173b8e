"""A simulation of GitHub's runner, as thin as can be: steps are run by bash, one after another.

It knows what the workflows in docs and action.yml need, as GitHub documents it, and refuses all
else: shells, contexts in `${{ }}`, the environment of workflow, job and step, the files by which a
step sets variables and outputs. A step that `uses` an action runs its action.yml (composite ones
only), or calls what stands in for it.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Step = Mapping[str, Any]
    Action = Callable[[Path, dict[str, str], Mapping[str, str]], None]

_EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")
_CONDITION = re.compile(r"([\w.-]+) != '([^']*)'")
_SHELLS = {
    None: ["bash", "-e"],
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
}
_FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
_STEP_KEYS = {
    "name",
    "id",
    "if",
    "uses",
    "with",
    "run",
    "shell",
    "working-directory",
    "env",
}
TIMEOUT = 600


class WorkflowError(Exception):
    """A workflow has what GitHub would refuse, or what this runner does not know."""


@dataclass
class Job:
    """What became of a job.

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
class _Scope:
    """What the steps of a job, or those of a composite action, share.

    Args:
        place: the job's folder.
        known: contexts by name.
        environ: of every step.
        shell: of steps that name none; '' where each must.
        done: what is told of the job.
    """

    place: Path
    known: dict[str, Any]
    environ: dict[str, str]
    shell: str | None
    done: Job


@dataclass
class Runner:
    """Runs jobs of one workflow.

    Args:
        workflow: as read from YAML.
        home: an empty folder for workspaces.
        actions: for what a step `uses`, without its version: the folder with its action.yml, or
            what does it; told the workspace, the environment, which it may change, and `with`.
        environ: of every step.
        before: for a step's name, what its environment and that of all later ones gets.
        github: the context of that name.
    """

    workflow: Mapping[str, Any]
    home: Path
    actions: Mapping[str, Action | Path]
    environ: Mapping[str, str]
    before: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    github: Mapping[str, str] = field(default_factory=dict)

    def run(self, name: str, **contexts: Any) -> Job:
        """Run one job of its matrix; `contexts` are `matrix` and `needs`."""
        job, done = self.workflow["jobs"][name], Job()
        place = self.home / f"{name}-{len(list(self.home.iterdir()))}"
        (place / "workspace").mkdir(parents=True)
        runner = {"temp": str(place)}
        known = {"github": self.github, "runner": runner, "steps": {}, **contexts}
        own = {"RUNNER_TEMP": str(place), "GITHUB_WORKSPACE": str(place / "workspace")}
        environ = {**self.environ, **own, "GITHUB_ACTIONS": "true"}
        for holder in (self.workflow, job):
            environ.update(_filled(holder.get("env", {}), known))
        known["env"] = environ
        shell = self.workflow.get("defaults", {}).get("run", {}).get("shell")
        done.failed = self._run_all(
            job["steps"], _Scope(place, known, environ, shell, done)
        )
        if not done.failed:
            done.outputs = _filled(job.get("outputs", {}), known)
        return done

    def _run_all(self, steps: Sequence[Step], scope: _Scope) -> str:
        """Run steps up to the one that fails; return its name."""
        for step in steps:
            if unknown := set(step) - _STEP_KEYS:
                raise WorkflowError(f"a step with {unknown}")
            label = str(
                step.get("name", step.get("id", step.get("uses", step.get("run"))))
            )
            scope.environ.update(self.before.get(label, {}))
            if not _holds(step.get("if"), scope.known):
                continue
            failed = (
                self._use(step, scope)
                if "uses" in step
                else self._script(step, label, scope)
            )
            if failed:
                return failed
        return ""

    def _use(self, step: Step, scope: _Scope) -> str:
        action = self.actions[step["uses"].partition("@")[0]]
        given = _filled(step.get("with", {}), scope.known)
        if isinstance(action, Path):
            return self._composite(action, step, given, scope)
        action(scope.place / "workspace", scope.environ, given)
        return ""

    def _composite(
        self, home: Path, step: Step, given: dict[str, str], scope: _Scope
    ) -> str:
        action = yaml.safe_load((home / "action.yml").read_text("utf-8"))
        if unknown := set(given) - set(action["inputs"]):
            raise WorkflowError(f"{step['uses']} has no input {unknown}")
        inputs = {name: one["default"] for name, one in action["inputs"].items()}
        known = {**scope.known, "inputs": {**inputs, **given}, "steps": {}}
        own = {
            **_filled(step.get("env", {}), scope.known),
            "GITHUB_ACTION_PATH": str(home),
        }
        inside = _Scope(scope.place, known, {**scope.environ, **own}, "", scope.done)
        failed = self._run_all(action["runs"]["steps"], inside)
        scope.environ["PATH"] = inside.environ["PATH"]
        if "id" in step and not failed:
            values = {name: one["value"] for name, one in action["outputs"].items()}
            scope.known["steps"][step["id"]] = {"outputs": _filled(values, known)}
        return failed

    def _script(self, step: Step, label: str, scope: _Scope) -> str:
        files = {name: scope.place / name for name in _FILES}
        for file in files.values():
            file.write_text("")
        paths = {name: str(file) for name, file in files.items()}
        own = {**scope.environ, **_filled(step.get("env", {}), scope.known), **paths}
        code = self._bash(step, scope, own)
        scope.done.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        scope.environ.update(_assigned(files["GITHUB_ENV"].read_text()))
        if "id" in step:
            outputs = _assigned(files["GITHUB_OUTPUT"].read_text())
            scope.known["steps"][step["id"]] = {"outputs": outputs}
        return label if code else ""

    def _bash(self, step: Step, scope: _Scope, environ: Mapping[str, str]) -> int:
        shell = step.get("shell", scope.shell)
        if shell == "":
            raise WorkflowError(f"no shell: {step['run']}")
        where = _filled({"at": step.get("working-directory", ".")}, scope.known)["at"]
        script = scope.place / "step.sh"
        script.write_text(step["run"])
        ended = subprocess.run(
            [*_SHELLS[shell], str(script)],
            env=dict(environ),
            cwd=scope.place / "workspace" / where,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        scope.done.log += f"$ {step['run']}{ended.stdout}"
        return ended.returncode


def _holds(condition: str | None, known: Mapping[str, Any]) -> bool:
    if condition is None:
        return True
    if not (found := _CONDITION.fullmatch(condition)):
        raise WorkflowError(f"if: {condition}")
    return _value(found[1], known) != found[2]


def _filled(texts: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, str]:
    """Put in what expressions stand for."""
    return {
        name: _EXPRESSION.sub(lambda found: _value(found[1], known), _text(given))
        for name, given in texts.items()
    }


def _text(given: object) -> str:
    """Write a value of YAML as GitHub does."""
    return str(given).lower() if isinstance(given, bool) else str(given)


def _value(path: str, known: Mapping[str, Any]) -> str:
    value: Any = known
    for part in path.split("."):
        if part not in value:
            # GitHub makes it ''.
            raise WorkflowError(f"${{{{ {path} }}}} is nothing here")
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
