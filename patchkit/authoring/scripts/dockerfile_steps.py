"""Chooses what is run of a Dockerfile: the commands that edit files of the package, and copies."""

import re
import shlex
from pathlib import Path, PurePosixPath

from patchkit.authoring.scripts.dockerfile import (
    Document,
    Instruction,
    mount_options,
    read_instructions,
)
from patchkit.authoring.scripts.paths import PathRules
from patchkit.authoring.scripts.plan import (
    FileCopy,
    LeftOutStep,
    ScriptPlan,
    Step,
    is_small,
    mentions,
)
from patchkit.authoring.scripts.shell_commands import ShellCommand, split_commands
from patchkit.authoring.scripts.workspace import Workspace

_EDITS = re.compile(
    r"(?:^|[\s;&|({/])"
    r"(?:sed|perl|patch|g?awk|ed|ex|cp|mv|rm|ln|install|tee|truncate|touch"
    r"|git\s+(?:-[Cc]\s+\S+\s+)*(?:apply|am)|bash|sh|python3?(?:\.\d+)?(?!\S|\s+-m\b))(?=\s|$)"
    r"|>"
)
"""Finds a program that may edit a file, or `>`."""
_PYTHON = re.compile(r"python3?(?:\.\d+)?")
_TEXT_PROGRAMS = frozenset(
    {"awk", "bash", "cat", "echo", "ed", "ex", "gawk"}
    | {"git", "patch", "perl", "printf", "sed", "sh", "xargs"}
)
_FILE_PROGRAMS = frozenset(
    {"cp", "find", "install", "ln", "mv", "rm", "tee", "touch", "truncate"}
)
"""Programs that write, move or delete what their arguments name."""
_BLOCKS = frozenset(
    {"(", "[", "[[", "case", "egrep", "for", "grep", "if", "test", "while", "{"}
)
"""What other commands stand in or behind."""
_PROGRAMS = _TEXT_PROGRAMS | _FILE_PROGRAMS | _BLOCKS
"""Programs that are run, if they edit files of the package."""
_ABSOLUTE = re.compile(r"(?<![^\s\"'])/[^\s\"';|&<>]+")
_REDIRECTED = re.compile(r">\s*[\"']?(/[^\s\"';|&]+)")
_STATE_PROGRAMS = frozenset(
    {"cd", "pushd", "popd", "set", "export", "unset", "shopt", ""}
)
"""Programs that change the shell for the commands after them; '' stands for an assignment."""
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")
_ASSIGNMENT = re.compile(r"(?:export\s+)?(\w+)=")
_OWN_VARIABLES = frozenset(
    {
        "HOME",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "PATH",
        "PYTHONHOME",
        "PYTHONPATH",
        "TMPDIR",
    }
)
"""Variables of an image that are not taken over: scripts have those of the workspace."""
_DEFAULT_SHELL = ["/bin/sh", "-c"]


class DockerfileSteps:
    """The steps of one Dockerfile; `plan` has them after `run`.

    Args:
        file: The Dockerfile, as the command line names it.
        workspace: The folder of the copy.
    """

    def __init__(self, file: str, workspace: Workspace) -> None:
        self.plan = ScriptPlan()
        self._file = file
        self._context = Path(file).resolve().parent
        self._workspace = workspace
        # By path of the image, the file or folder of the workspace that stands for it.
        self._stand_ins: dict[str, Path] = {}
        # The paths of copied files in the workspace whose text names the package: scripts, mostly.
        self._copies_naming_package: set[str] = set()
        name = re.escape(workspace.package)
        self._package = re.compile(rf"(?<![\w-]){name}(?![\w-])")
        self._begin_stage()

    def run(self, text: str) -> None:
        """Add the steps of the Dockerfile to the plan, instruction by instruction.

        Args:
            text: The Dockerfile.
        """
        for instruction in read_instructions(text):
            if instruction.keyword == "FROM":
                self._begin_stage()
            elif instruction.keyword in {"ENV", "ARG"}:
                self._set_variables(instruction)
            elif instruction.keyword == "WORKDIR":
                self._folder = self._absolute(self._expanded(instruction.text))
                self._enter_folder()
            elif instruction.keyword == "SHELL":
                self._shell = instruction.as_list or _DEFAULT_SHELL
            elif instruction.keyword in {"COPY", "ADD"}:
                self._add_copies(instruction)
            elif instruction.keyword == "RUN":
                self._add_run(instruction)

    def _begin_stage(self) -> None:
        """Forget what an earlier stage has set."""
        self._folder = "/"
        self._variables: dict[str, str] = {}
        # The names of variables whose values are paths in the copy.
        self._variables_into_copy: set[str] = set()
        self._shell = _DEFAULT_SHELL

    @property
    def _rules(self) -> PathRules:
        """The rules for paths, with all that was copied so far."""
        return PathRules(self._workspace, self._stand_ins)

    def _expanded(self, text: str) -> str:
        """Put the values of `ENV` and `ARG` in the place of `$NAME` and `${NAME:-default}`."""

        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            return self._variables.get(name, match[3] or "")

        return _VARIABLE.sub(value, text)

    def _absolute(self, path: str) -> str:
        """Return an absolute path of the image, without a slash at the end."""
        joined = PurePosixPath(self._folder, path.strip("\"'"))
        return str(joined)

    def _target(self, path: str) -> Path:
        """Return what stands for an absolute path of the image.

        That lies in the copy of the package, in the temporary folder, or else in a folder that
        stands for the root of the image; it need not exist yet.
        """
        entered = self._rules.entered(path)
        if entered.is_relative_to(self._workspace.site):
            return entered
        pure_path = PurePosixPath(path)
        if pure_path.is_relative_to("/tmp"):  # noqa: S108 - a path of the image
            return self._workspace.temporary / pure_path.relative_to("/tmp")  # noqa: S108
        return self._workspace.root / path.strip("/")

    def _enter_folder(self) -> None:
        """Let a folder of the workspace stand for the image's new working directory."""
        target = self._target(self._folder)
        if self._folder != "/":  # each absolute path begins with that one
            self._stand_ins[self._folder] = target

    def _set_variables(self, instruction: Instruction) -> None:
        """Store the variables of an `ENV` or `ARG`, with their paths led into the workspace."""
        try:
            words = shlex.split(instruction.text)
        except ValueError:
            return
        # The old form, `ENV NAME some words`, sets one variable, and has no `=`.
        if instruction.keyword == "ENV" and words and "=" not in words[0]:
            words = [f"{words[0]}={' '.join(words[1:])}"]
        for word in words:
            name, _, value = word.partition("=")
            if name not in _OWN_VARIABLES:
                expanded = self._expanded(value)
                self._variables[name] = self._rules.relocated(expanded)
                if self._names_copy(self._variables[name]):
                    self._variables_into_copy.add(name)

    def _add_copies(self, instruction: Instruction) -> None:
        """Add a step for a `COPY` or `ADD` of files that lie beside the Dockerfile."""
        words = instruction.as_list
        if words is None:
            words = instruction.text.split()
        shown = f"{instruction.keyword} {instruction.text}"
        # With `--from`, the files are of another stage or image, and not at hand.
        is_from_elsewhere = "from" in dict(instruction.flags)
        if is_from_elsewhere or len(words) < 2:
            self._leave_out(instruction, shown)
            return
        *sources, target = [self._expanded(word) for word in words]
        documents = {document.start: document for document in instruction.documents}
        is_folder = target.endswith("/") or len(sources) > 1
        copies: list[FileCopy] = []
        for pattern in sources:
            if pattern in documents:
                matching = [self._written(documents[pattern])]
            else:
                matching = self._matching(pattern)
            into_package = self._target(self._absolute(target)).is_relative_to(
                self._workspace.site
            )
            # `ADD` of an address is left out, and so is what edits no file of the package.
            if into_package and not matching and "://" not in pattern:
                missing = LeftOutStep(self._file, instruction.line, shown)
                self.plan.missing.append(missing)
                return
            for source in matching:
                path = self._absolute(target)
                if is_folder and not source.is_dir():
                    path = f"{path.rstrip('/')}/{source.name}"
                copies += self._copies(source, path)
        if not copies:
            self._leave_out(instruction, shown)
            return
        # What is copied into the package is an edit of it, so the step has a text for people, and
        # the files stay as they are. In other files, such as scripts, paths lead into the copy.
        text = ""
        rules: PathRules | None = self._rules
        site = self._workspace.site
        if any(copy.target.is_relative_to(site) for copy in copies):
            text = shown
            rules = None
        step = Step(self._file, instruction.line, text, site, (), copies, rules)
        self.plan.steps.append(step)

    def _written(self, document: Document) -> Path:
        """Write a document of the Dockerfile to a file, and return the file.

        Variables in it have their values, unless the word that begins it is in quotes.
        """
        number = len(self.plan.steps)
        file = self._workspace.tools / f"documents_{number}" / document.name
        file.parent.mkdir(exist_ok=True)
        is_quoted = document.start.endswith(("'", '"'))
        text = document.text if is_quoted else self._expanded(document.text)
        file.write_text(text, "utf-8")
        return file

    def _matching(self, pattern: str) -> list[Path]:
        """Return the files and folders beside the Dockerfile that a pattern names."""
        relative = pattern.removeprefix("./").strip("/")
        if relative in {"", "."}:
            return [self._context]
        return sorted(self._context.glob(relative))

    def _copies(self, source: Path, path: str) -> list[FileCopy]:
        """Return the copy of a file or folder to a path of the image.

        None is made of what is too large, or lies in another folder than the Dockerfile's.
        """
        is_document = source.is_relative_to(self._workspace.tools)
        is_inside = source.resolve().is_relative_to(self._context)
        if not (is_inside or is_document) or not is_small(source):
            return []
        target = self._target(path)
        # Paths of the image to a file beside the package are to lead to its copy from now on.
        if not target.is_relative_to(self._workspace.site) and path != "/":
            self._stand_ins[path] = target
            if mentions(source, self._workspace.package):
                self._copies_naming_package.add(str(target))
        return [FileCopy(source, target)]

    def _add_run(self, instruction: Instruction) -> None:
        """Add a step for the commands of a `RUN` that edit files of the package.

        Commands between them that change the shell, such as `cd`, are a part of the step.
        """
        copies = self._mounted(instruction)
        words = instruction.as_list
        text = instruction.script if words is None else shlex.join(words)
        folder = self._target(self._folder)
        is_inside = folder.is_relative_to(self._workspace.site)
        chosen: list[ShellCommand] = []
        has_edit = False
        for command in split_commands(self._rules.relocated(text)):
            if command.program in _STATE_PROGRAMS:
                chosen.append(command)
                self._note_variable(command)
                is_inside = self._is_inside_after(command, is_inside=is_inside)
            elif self._edits_package(command, is_inside=is_inside):
                chosen.append(command)
                has_edit = True
            else:
                self._leave_out(instruction, command.text)
        if not has_edit:
            return
        script = _joined(chosen)
        step = Step(
            self._file,
            instruction.line,
            script,
            folder,
            [*self._shell, script],
            copies,
            self._rules,
            dict(self._variables),
        )
        self.plan.steps.append(step)

    def _note_variable(self, command: ShellCommand) -> None:
        """Note the variable that a command sets, if its value may be a path in the copy.

        A command with the variable may edit the package then.
        """
        assignment = _ASSIGNMENT.match(command.text)
        if not assignment:
            return
        # It may be computed from the package: `SITE=$(python3 -c "import vllm; …")`.
        names_package = self._package.search(command.text) is not None
        if names_package or self._names_copy(command.text):
            self._variables_into_copy.add(assignment[1])

    def _is_inside_after(self, command: ShellCommand, *, is_inside: bool) -> bool:
        """Return whether the working directory is in the copy after a command that changes state.

        Args:
            command: The command.
            is_inside: Whether the working directory is in the copy before.
        """
        is_assignment = _ASSIGNMENT.match(command.text) is not None
        if is_assignment or command.program not in {"cd", "pushd"}:
            return is_inside
        names_copy = self._names_copy(command.text)
        if command.arguments.startswith("/"):
            return names_copy
        return names_copy or is_inside

    def _mounted(self, instruction: Instruction) -> list[FileCopy]:
        """Return copies of what a `RUN --mount=type=bind` mounts from beside the Dockerfile."""
        copies: list[FileCopy] = []
        for name, value in instruction.flags:
            options = mount_options(value)
            if name != "mount" or options.get("type", "bind") != "bind":
                continue
            if "from" in options:
                continue  # of another stage or image, whose files are not at hand
            source = options.get("source") or options.get("src") or "."
            target = options.get("target") or options.get("dst") or ""
            target = target or options.get("destination", "")
            for path in self._matching(self._expanded(source)):
                copies += self._copies(path, self._absolute(self._expanded(target)))
        return copies

    def _edits_package(self, command: ShellCommand, *, is_inside: bool) -> bool:
        """Whether a command may edit files of the package.

        Args:
            command: The command; its paths lead into the workspace already.
            is_inside: Whether its working directory is in the copy.
        """
        text = command.text
        copies_naming_package = self._copies_naming_package
        # It runs a copied script that names the package.
        if any(text.startswith(path) for path in copies_naming_package):
            return True
        program = command.program
        if program not in _PROGRAMS and not _PYTHON.fullmatch(program):
            return False  # an installation, a compiler, or what nobody knows
        if not _EDITS.search(text):
            return False
        if self._names_outside(command):
            return False  # it would fail, as it may write in the workspace alone
        if is_inside or self._names_copy(text) or self._package.search(text):
            return True
        # It gives a copied script to a program, as `sh /fixes/run.sh` does.
        return any(path in text for path in copies_naming_package)

    def _names_outside(self, command: ShellCommand) -> bool:
        """Whether a command may write, move or delete a file that is not in the workspace."""
        paths = _REDIRECTED.findall(command.text)
        if command.program in _FILE_PROGRAMS:
            paths += _ABSOLUTE.findall(command.text)
        own_folders = (str(self._workspace.folder), "/dev/")
        return any(not path.startswith(own_folders) for path in paths)

    def _names_copy(self, text: str) -> bool:
        """Whether a text has a path of the copy in it, or a variable that leads there."""
        if str(self._workspace.site) in text:
            return True
        variables = {match[1] or match[2] for match in _VARIABLE.finditer(text)}
        return not self._variables_into_copy.isdisjoint(variables)

    def _leave_out(self, instruction: Instruction, text: str) -> None:
        """List what is not run."""
        self.plan.left_out.append(LeftOutStep(self._file, instruction.line, text))


def _joined(commands: list[ShellCommand]) -> str:
    """Join the chosen commands of a `RUN`, each behind the separator that stood before it."""
    parts: list[str] = []
    for command in commands:
        if parts and command.separator == "\n":
            parts.append("\n")
        elif parts:
            parts.append(f" {command.separator} ")
        parts.append(command.text)
    return "".join(parts)
