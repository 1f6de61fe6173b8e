"""Plans how scripts are run: Python files, shell scripts, and Dockerfiles."""

import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from patchkit.authoring.scripts.dockerfile_steps import DockerfileSteps
from patchkit.authoring.scripts.paths import PathRules
from patchkit.authoring.scripts.plan import FileCopy, ScriptPlan, Step, is_small
from patchkit.authoring.scripts.stand_ins import StandIns
from patchkit.authoring.scripts.workspace import Workspace
from patchkit.errors import ScaffoldError

_DOCKERFILE = re.compile(
    r"(?i)(?:docker|container)file(?:[.\-_].*)?|.*\.(?:docker|container)file"
)
_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_SHELL_OF_SUFFIX = {".sh": "sh", ".bash": "bash", ".zsh": "zsh", ".ksh": "ksh"}
_OWN_NAME = re.compile(r"\$BASH_SOURCE\b(?!\[)|\$\{BASH_SOURCE(?:\[0\])?\}")
"""How a script of bash asks for its own file, which `bash -c` does not say."""
_LONGEST_ARGUMENT = 100_000
"""How many bytes a text may have that a shell is given as an argument: Linux takes 131,071."""


def plan_scripts(scripts: Iterable[str], workspace: Workspace) -> ScriptPlan:
    """Plan how scripts are run, one after another, on the same copy.

    Args:
        scripts: The files, each with its arguments after it, if there are any.
        workspace: The folder of the copy.

    Returns:
        The plan, which has a step at least that edits files.

    Raises:
        ScaffoldError: A file cannot be read, is no script, or has nothing to run.
    """
    plan = ScriptPlan()
    for number, script in enumerate(scripts):
        file, arguments = _file_and_arguments(script)
        text = _read(file)
        if _DOCKERFILE.fullmatch(file.name):
            dockerfile = DockerfileSteps(str(file), workspace)
            dockerfile.run(text)
            if not dockerfile.plan.told:
                raise ScaffoldError(
                    f"{file}: found no line that edits files of {workspace.package}, expected one "
                    "at least: a RUN with sed, patch, perl or Python, or a COPY"
                )
            plan.steps += dockerfile.plan.steps
            plan.left_out += dockerfile.plan.left_out
            plan.missing += dockerfile.plan.missing
        else:
            plan.steps.append(_step(file, arguments, text, workspace, number))
    return plan


def _file_and_arguments(script: str) -> tuple[Path, list[str]]:
    """Split what the command line says of a script into its file and its arguments."""
    file = Path(script)
    if file.exists():  # the whole text is its name, which may have spaces
        return file, []
    try:
        words = shlex.split(script)
    except ValueError:
        words = []
    if not words:  # `_read` says that there is no such file
        return file, []
    return Path(words[0]), words[1:]


def _read(file: Path) -> str:
    """Read a script.

    Raises:
        ScaffoldError: It cannot be read, or it is no text.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{file}: {error}, expected a script") from error
    if "\0" in text:
        raise ScaffoldError(f"{file}: found a zero byte in it, expected a script")
    return text


def _step(
    file: Path, arguments: Sequence[str], text: str, workspace: Workspace, number: int
) -> Step:
    """Plan a Python file or a shell script.

    Args:
        file: The script.
        arguments: Its arguments.
        text: What it says.
        workspace: The folder of the copy.
        number: The number of the script, by which the file with its changed text is named.

    Raises:
        ScaffoldError: It is neither.
    """
    rules = PathRules(workspace, {})
    # With a space before it, as on a command line, the path in `-d/usr/lib` is found, too.
    arguments = [rules.relocated(f" {argument}")[1:] for argument in arguments]
    interpreter = _interpreter(file, text)
    program = interpreter[0]
    original = str(file.resolve())
    changed_text = rules.relocated(text)
    if program in _SHELLS:
        # The text is no file, so that `original`, behind it, is what `$0` is in it.
        changed_text = _OWN_NAME.sub("$0", changed_text)
        if len(changed_text.encode()) > _LONGEST_ARGUMENT:
            changed_file = workspace.tools / f"script_{number}.sh"
            changed_file.write_text(changed_text, "utf-8")
            changed_text = f". {shlex.quote(str(changed_file))}"
        command = [*interpreter, "-c", changed_text, original, *arguments]
    elif program.startswith("python"):
        # The runner runs the changed file, and lets it take itself for the original.
        changed_file = workspace.tools / f"script_{number}.py"
        changed_file.write_text(changed_text, "utf-8")
        runner = StandIns(workspace).runner
        command = [sys.executable, str(runner), original, str(changed_file), *arguments]
    else:
        raise ScaffoldError(
            f"{file}: found a script for {program or 'nothing'}, expected a Python file, a shell "
            "script (by its end, or by a first line such as #!/bin/sh), or a Dockerfile"
        )
    shown = shlex.join([*interpreter, str(file), *arguments])
    copies = _companions(file, text, workspace)
    return Step(str(file), 1, shown, workspace.site, command, copies, rules)


def _interpreter(file: Path, text: str) -> list[str]:
    """Return the program that runs a script, with its options; [''] where nothing says that."""
    first_line, _, _ = text.partition("\n")
    if first_line.startswith("#!"):
        words = first_line[2:].split()
        words = [word for word in words if word not in {"/usr/bin/env", "-S"}]
        if words:
            return [words[0].rpartition("/")[2], *words[1:]]
    if file.suffix == ".py":
        return ["python3"]
    return [_SHELL_OF_SUFFIX.get(file.suffix, "")]


def _companions(file: Path, text: str, workspace: Workspace) -> list[FileCopy]:
    """Return copies of what a script names in its folder, or in the working directory.

    The script runs in the copy of the release, where `patch -p1 < fixes/a.patch` has to find its
    file, too.
    """
    copies: dict[str, FileCopy] = {}
    for folder in (file.resolve().parent, Path.cwd()):
        for path in sorted(folder.iterdir()):
            name = path.name
            is_hidden = name.startswith(".")
            if name in copies or is_hidden or name == file.name:
                continue
            if name == workspace.package:
                continue  # the copy of the release has a folder of that name
            pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
            if re.search(pattern, text) and is_small(path):
                copies[name] = FileCopy(path, workspace.site / name)
    return list(copies.values())
