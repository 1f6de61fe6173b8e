"""Lists the edits of scripts that failed or changed nothing although the script went on."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from patchkit.authoring.diffs.unexpressed import UnexpressedCode
from patchkit.authoring.scripts.plan import Step
from patchkit.authoring.scripts.script_lines import line_of, line_with
from patchkit.authoring.scripts.shell_commands import is_answered
from patchkit.authoring.scripts.stand_ins import IdleText, WatchedEdit
from patchkit.authoring.scripts.workspace import Workspace

_CHANGED_NOTHING = "it changed nothing"
"""The reason of an edit that ended well and left its files as they were."""


class IdleEdits:
    """The edits of a step that failed or changed nothing.

    Args:
        workspace: The folder of the copy.
        release: The name of the release, for people.
    """

    def __init__(self, workspace: Workspace, release: str) -> None:
        self._workspace = workspace
        self._release = release
        # By path in the workspace, the file or folder that was copied there.
        self._sources: dict[Path, Path] = {}
        self.failed_programs: set[str] = set()
        """The programs of the commands that have failed."""

    def note_copies(self, step: Step) -> None:
        """Note what a step copies: the programs that later steps run.

        Args:
            step: The step.
        """
        for copy in step.copies:
            self._sources[copy.target] = copy.source

    def of_commands(
        self, step: Step, edits: Sequence[WatchedEdit]
    ) -> Iterator[UnexpressedCode]:
        """Yield the commands that failed or changed nothing.

        One that failed is none of them if the step has another edit for that case: behind `||`, or
        in the rest of an `if`.

        Args:
            step: The step.
            edits: The commands that it has run to edit files.
        """
        lines = _lines_of(Path(step.file))
        shell_text = ""
        if "-c" in step.command:
            shell_text = step.command[step.command.index("-c") + 1]
        for number, edit in enumerate(edits, 1):
            if not edit.reason:
                continue
            has_failed = edit.reason != _CHANGED_NOTHING
            if has_failed:
                self.failed_programs.add(edit.command.partition(" ")[0])
            later = [other.command for other in edits[number:] if not other.reason]
            if has_failed and is_answered(shell_text, edit.command, later):
                continue
            command = self.without_folders(edit.command)
            reason = f"{edit.reason} in {self._release}"
            if has_failed:
                reason = f"{edit.reason}, and the script went on"
            line = line_of(command, lines, step.line)
            yield UnexpressedCode(step.file, line, command, reason)

    def of_texts(
        self, step: Step, idle_texts: Sequence[IdleText]
    ) -> Iterator[UnexpressedCode]:
        """Yield the edits of texts, in Python programs, that changed nothing.

        Args:
            step: The step.
            idle_texts: What its programs have noted.
        """
        for idle in idle_texts:
            file, line = self._place(step, idle)
            code = self.without_folders(idle.code)
            reason = f"it changed nothing in {self._release}"
            if not idle.text:
                reason = f"it was written as it is in {self._release}"
            yield UnexpressedCode(file, line, code, reason)

    def without_folders(self, text: str) -> str:
        """Write the paths of a text as a person knows them: without the folder of the copy.

        Args:
            text: The text.

        Returns:
            The text with those paths.
        """
        # The innermost folders first, as the others begin their paths.
        text = text.replace(f"{self._workspace.site}/", "")
        text = text.replace(f"{self._workspace.root}/", "/")
        return text.replace(str(self._workspace.folder), "")

    def _place(self, step: Step, idle: IdleText) -> tuple[str, int]:
        """Return the file that an edit of a text stands in, as a person knows it, and the line."""
        path = Path(idle.file)
        source = _source_of(path, self._sources)
        origin = source or path
        is_made_by_script = origin.is_relative_to(self._workspace.folder)
        if not idle.file or is_made_by_script:
            # The program stands in a document or an option, and knows no line of the script.
            lines = _lines_of(Path(step.file))
            return step.file, line_with(idle.text, lines, step.line)
        file = str(source or path)
        if path == Path(step.file).resolve():
            file = step.file
        line = line_with(idle.text, _lines_of(Path(file)), idle.line)
        return self.without_folders(file), line


def _source_of(path: Path, sources: Mapping[Path, Path]) -> Path | None:
    """Return the file that was copied to a path; None if none was."""
    for target, source in sources.items():
        if path.is_relative_to(target):
            return source / path.relative_to(target)
    return None


def _lines_of(file: Path) -> list[str]:
    """Return the lines of a script; none where it cannot be read."""
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
