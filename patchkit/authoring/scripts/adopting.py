"""Runs planned scripts on a copy of a release, and writes rows for what they have changed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from patchkit.analysis.upstream.reading.files import ReleaseSource, parse
from patchkit.authoring.diffs.diff_files import Differing
from patchkit.authoring.diffs.diff_paths import MODULE
from patchkit.authoring.diffs.differing import DifferenceRows
from patchkit.authoring.diffs.unexpressed import UnexpressedCode
from patchkit.authoring.isolation.commands import IsolatedRun, Isolation, run_isolated
from patchkit.authoring.scripts.idle_edits import IdleEdits
from patchkit.authoring.scripts.plan import LeftOutStep, ScriptPlan, Step
from patchkit.authoring.scripts.snapshots import Snapshot
from patchkit.authoring.scripts.stand_ins import StandIns
from patchkit.authoring.scripts.workspace import Workspace

_NO_MODULE = "it is no Python module of the release; no row changes such a file"
_NAMES_COPY = "its new text names the folder of the copy, which is gone"
_NOT_ADOPTED = "what it had changed is not adopted"


@dataclass
class ScriptRows(DifferenceRows):
    """The rows for what scripts have changed in a copy of a release.

    Args:
        steps: What was run.
        left_out: What was not run, such as installations.
        isolation: What the system refused to cut the scripts off from.
    """

    steps: list[Step] = field(default_factory=list)
    left_out: list[LeftOutStep] = field(default_factory=list)
    isolation: Isolation = field(default_factory=Isolation)


@contextmanager
def open_workspace(package: str, project: str, version: str) -> Iterator[Workspace]:
    """Make a workspace in a temporary folder, which is deleted at the end of the context.

    Args:
        package: The import package that the scripts edit.
        project: The name of its distribution.
        version: The version of its release.

    Yields:
        The workspace, with the programs that stand for others; there is no copy in it yet.
    """
    with TemporaryDirectory(prefix="patchkit-scripts-") as folder:
        workspace = Workspace(Path(folder).resolve(), package, project, version)
        workspace.make()
        StandIns(workspace).write()
        yield workspace


class ScriptRun:
    """Runs the steps of a plan on a copy of a release.

    Args:
        workspace: The folder of the copy.
        source: The files of the release.
        timeout: The seconds after which a step is ended.
    """

    def __init__(
        self, workspace: Workspace, source: ReleaseSource, timeout: float
    ) -> None:
        self._workspace = workspace
        self._source = source
        self._timeout = timeout
        self._stand_ins = StandIns(workspace)
        self._release = f"{workspace.project} {workspace.version}"
        self._idle_edits = IdleEdits(workspace, self._release)

    def run(self, plan: ScriptPlan, rows: ScriptRows) -> None:
        """Run a plan, and add what it has changed to the rows.

        Args:
            plan: The plan.
            rows: The rows, which are filled in.

        Raises:
            UpstreamError: A file of the release cannot be read.
            ScaffoldError: Nothing can be run, or nothing was changed.
        """
        self._workspace.unpack(self._source)
        snapshot = Snapshot(self._workspace)
        # By path, what is in a file now; None if it is gone.
        edited: dict[str, bytes | None] = {}
        for part in plan.left_out:  # for the report
            text = self._idle_edits.without_folders(part.text)
            rows.left_out.append(part._replace(text=text))
        for part in plan.missing:
            reason = "it copies what is not beside the Dockerfile"
            rows.left.append(UnexpressedCode(part.file, part.line, part.text, reason))
        for step in plan.told:
            text = self._idle_edits.without_folders(step.text)
            rows.steps.append(step._replace(text=text))
        for step in plan.steps:
            changed = self._run_step(step, snapshot, rows)
            edited.update(changed)
        rows.add(list(self._differing(edited, rows)))

    def _run_step(
        self, step: Step, snapshot: Snapshot, rows: ScriptRows
    ) -> Mapping[str, bytes | None]:
        """Run a step, and list it if it fails or changes nothing.

        Args:
            step: The step.
            snapshot: The files as they were before it; has those after it then.
            rows: The rows, whose lists are added to.

        Returns:
            By path in the workspace, what the files that it has changed hold, None for those that
            are gone; none if it has failed.
        """
        step.folder.mkdir(parents=True, exist_ok=True)
        for copy in step.copies:
            copy.make(step.rules)
        self._idle_edits.note_copies(step)
        fault = ""
        listed_before = len(rows.left)
        if step.command:
            # What was copied for a command is not among the files that the command changes.
            snapshot.accept(snapshot.changed())
            fault = self._run_command(step, rows)
        changed = snapshot.changed()
        if fault:
            # The steps after it find the copy as it was before, not half of an edit.
            snapshot.revert(changed)
            self._list_fault(step, fault, rows)
            return {}
        snapshot.accept(changed)
        if not step.text:
            return {}  # it only copied files beside the package, for the commands of later steps
        is_listed = len(rows.left) > listed_before
        if not changed and not is_listed:
            self._list_fault(step, f"it changed nothing in {self._release}", rows)
        return changed

    def _list_fault(self, step: Step, fault: str, rows: ScriptRows) -> None:
        """List a step of which no row is made."""
        code = self._idle_edits.without_folders(step.first_line)
        rows.left.append(UnexpressedCode(step.file, step.line, code, fault))

    def _run_command(self, step: Step, rows: ScriptRows) -> str:
        """Run the command of a step; return why it failed, or ''."""
        finished = run_isolated(
            step.command,
            timeout=self._timeout,
            environ=self._stand_ins.environ() | dict(step.variables or {}),
            cwd=step.folder,
            writable=[self._workspace.folder],
        )
        for text in self._stand_ins.take_left_out():
            rows.left_out.append(LeftOutStep(step.file, step.line, text))
        fault = self._fault_of(finished)
        edits = self._stand_ins.take_edits()
        idle_texts = self._stand_ins.take_idle_texts()
        if not fault:  # else the step as a whole is listed
            rows.left += self._idle_edits.of_commands(step, edits)
            rows.left += self._idle_edits.of_texts(step, idle_texts)
        return fault

    def _fault_of(self, finished: IsolatedRun) -> str:
        """Return why a command failed; '' where it has not."""
        if finished.code is None:
            return f"it took longer than {self._timeout:g} s; {_NOT_ADOPTED}"
        if finished.code == 0:
            return ""
        last_line = self._idle_edits.without_folders(finished.last_line)
        if last_line:
            last_line = f": {last_line}"
        return f"it ended {finished.ending}{last_line}; {_NOT_ADOPTED}"

    def _differing(
        self, edited: Mapping[str, bytes | None], rows: ScriptRows
    ) -> Iterator[Differing]:
        """Yield the modules that differ at the end, and list other files that do.

        Args:
            edited: By path in the workspace, what files hold; None for those that are gone.
            rows: The rows, whose list is added to.
        """
        site = self._workspace.site.relative_to(self._workspace.folder).as_posix()
        # What the edited files hold in the release.
        originals: set[bytes | None] = set()
        differing: list[Differing] = []
        for path, content in sorted(edited.items()):
            path_in_site = path.removeprefix(f"{site}/")
            is_in_site = path_in_site != path
            old = None
            if is_in_site and path_in_site.endswith((".py", ".pyi")):
                old = self._source.read(path_in_site)
            originals.add(old)
            if content != old:
                differing.append(Differing(path_in_site, old, content))
        for file in differing:
            # A new file with the former text of an edited one, such as the `.orig` of `patch`: no
            # row has to express that, and nobody misses it.
            is_backup = file.old is None and file.new in originals
            reason = self._reason_not_to_adopt(file)
            if not reason:
                yield file
            elif not is_backup and not self._is_left_by_patch(file):
                rows.left.append(UnexpressedCode(file.path, 1, file.path, reason))

    def _is_left_by_patch(self, file: Differing) -> bool:
        """Whether `patch` has left a file beside a module, and nobody has to be told of it."""
        path, _, end = file.path.rpartition(".")
        if not self._source.has(path):
            return False
        if end == "rej":  # what did not fit: told with the command that has failed
            return not self._idle_edits.failed_programs.isdisjoint({"patch", "git"})
        return end == "orig"

    def _reason_not_to_adopt(self, file: Differing) -> str:
        """Return why no row can express a file; '' where a row may."""
        top = file.path.partition("/")[0]
        if top != self._workspace.package and not self._source.has(file.path):
            return f"it is outside of {self._workspace.package}"
        if not MODULE.fullmatch(file.path):
            return _NO_MODULE
        new = file.new or b""
        if str(self._workspace.folder).encode() in new:
            return _NAMES_COPY
        _, fault = parse(new.replace(b"\r\n", b"\n"))
        if fault:
            return f"as the scripts left it, {fault}"
        return ""
