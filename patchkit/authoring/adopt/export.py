"""Writes what rows make of a release as a diff of its files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from io import StringIO
from pathlib import Path

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import parse
from patchkit.authoring.adopt.definitions import Definitions
from patchkit.authoring.adopt.transplant import ModuleText
from patchkit.authoring.adopt.unpacking import separated
from patchkit.core.rows.declaration import Add, Change, Provide, Row
from patchkit.errors import ScaffoldError, TargetError


@dataclass
class Export:
    """The files of a release, as rows change them.

    Args:
        release: the release.
        texts: the changed files, by path; their lines end with a newline alone.
        unwritten: the changes that a diff cannot have, each as a line with the reason.
    """

    release: CheckedRelease
    texts: dict[str, str] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)

    def add(self, row: Row, changes: Iterable[Change], pack: PackSource) -> None:
        """Make changes of a row; those that cannot be written are listed, and leave no trace.

        A ScaffoldError or a TargetError of a change is listed, and not raised.

        Args:
            row: the row.
            changes: the changes of it that the release gets.
            pack: the sources of the row's pack.

        Raises:
            UpstreamError: the release, or the row's body, cannot be read.
        """
        for change in changes:
            try:
                if row.patch.when or row.patch.env or change.when:
                    raise ScaffoldError(
                        "it is made under a condition, which a diff cannot have"
                    )
                self._make(row, change, pack.bodies.get(row.patch.body or ""))
            except (ScaffoldError, TargetError) as error:
                reason = str(error).partition("\n")[0]
                self.unwritten.append(
                    f"{row.name}: {change.place} is not in the diff: {reason}"
                )

    def _make(self, row: Row, change: Change, body_file: Path | None) -> None:
        """Make one change.

        Args:
            row: the row that has the change.
            change: the change.
            body_file: the row's body; None without one.

        Raises:
            ScaffoldError: text cannot say what the change does.
            TargetError: an Edit does not fit the text of its function.
        """
        content = body_file.read_bytes() if body_file else b""
        if isinstance(change, Provide):
            self._provide(change, content)
            return
        target = change.place
        if isinstance(change, Add):
            target = target.holder
        facts = self.release.facts(target)
        if not facts.is_present:
            raise ScaffoldError(facts.reason or "it is not there")
        qualname = facts.qualname
        if isinstance(change, Add):
            last = change.place.qualname.rpartition(".")[2]
            qualname = f"{qualname}.{last}" if qualname else last
        targets = [sibling.place for sibling in row.patch.changes]
        changed = frozenset(
            place.qualname for place in targets if place.module == facts.module
        )
        text = self.texts.get(facts.path) or self._read(facts.path).replace(
            "\r\n", "\n"
        )
        module = ModuleText(facts.path, text, changed)
        module.make(
            change, qualname, Definitions.of(str(body_file), separated(content))
        )
        _, fault = parse(module.text.encode())
        if fault:
            raise ScaffoldError(fault)
        self.texts[facts.path] = module.text

    def _provide(self, change: Provide, body: bytes) -> None:
        """Add a new module, of which a body has the text."""
        if change.by != "__all__":
            raise ScaffoldError(f"{change.by} makes the module as it is imported")
        path = f"{change.module.replace('.', '/')}.py"
        self.texts[path] = body.decode()

    def _read(self, path: str) -> str:
        """Read a file of the release; '' where it has no such file."""
        return (self.release.source.read(path) or b"").decode(errors="surrogateescape")

    def diff(self) -> str:
        """Return a unified diff, as `git apply` takes it."""
        lines: list[str] = []
        for path in sorted(self.texts):
            lines.extend(self._diff(path))
        return "".join(lines)

    def _diff(self, path: str) -> Iterator[str]:
        """Write the lines of the diff of one file; none where its text is the same."""
        old = self._read(path)
        new = self.texts[path]
        if "\r\n" in old:
            new = new.replace("\n", "\r\n")
        if old == new:
            return
        yield f"diff --git a/{path} b/{path}\n"
        old_name = f"a/{path}"
        if not self.release.source.has(path):
            yield "new file mode 100644\n"
            old_name = "/dev/null"
        for line in unified_diff(_lines(old), _lines(new), old_name, f"b/{path}"):
            yield (
                line
                if line.endswith("\n")
                else f"{line}\n\\ No newline at end of file\n"
            )


def _lines(text: str) -> list[str]:
    """Split a text where `git` does, at newlines alone; the lines have them."""
    return list(StringIO(text))


def exported(
    rows: Iterable[Row], coverage: Coverage, packs: Mapping[str, PackSource]
) -> Export:
    """Return what rows change in a release.

    Args:
        rows: the rows.
        coverage: what the rows change in the release, the one that it has.
        packs: the sources of the rows' packs, by module.

    Raises:
        UpstreamError: the release, or a body, cannot be read.
    """
    (release,) = coverage.releases
    export = Export(release)
    for row in rows:
        export.add(row, coverage.due(row, release), packs[row.pack])
    return export
