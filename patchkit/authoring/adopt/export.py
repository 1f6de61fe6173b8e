"""What rows make of a release, as a diff of its files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from io import StringIO
from pathlib import Path

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.upstream.reading.files import parse
from patchkit.authoring.adopt.definitions import Definitions
from patchkit.authoring.adopt.transplant import ModuleText
from patchkit.authoring.adopt.unpacking import separated
from patchkit.core.rows.declaration import Change, Provide, Row
from patchkit.errors import ScaffoldError, TargetError


@dataclass
class Export:
    """The files of a release, as rows change them; and what a diff does not have, with reasons."""

    subject: Subject
    texts: dict[str, str] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)

    def add(self, row: Row, changes: Iterable[Change], pack: PackSource) -> None:
        """Make the changes of a row; those that cannot be written are listed, and leave no trace.

        Raises:
            UpstreamError: the release, or the row's body, cannot be read.
        """
        for change in changes:
            try:
                if row.patch.when or row.patch.env or change.when:
                    raise ScaffoldError("it is made under a condition, which a diff cannot have")
                self._make(row, change, pack.bodies.get(row.patch.body or ""))
            except (ScaffoldError, TargetError) as error:
                reason = str(error).partition("\n")[0]
                self.unwritten.append(f"{row.name}: {change.place} is not in the diff: {reason}")

    def _make(self, row: Row, change: Change, file: Path | None) -> None:
        content = file.read_bytes() if file else b""
        if isinstance(change, Provide):
            if change.by != "__all__":
                raise ScaffoldError(f"{change.by} makes the module as it is imported")
            self.texts[f"{change.module.replace('.', '/')}.py"] = content.decode()
            return
        is_new = change.kind == "Add"
        facts = self.subject.facts(change.place.holder if is_new else change.place)
        if not facts.is_present:
            raise ScaffoldError(facts.reason or "it is not there")
        last = change.place.qualname.rpartition(".")[2]
        name = ".".join(filter(None, (facts.qualname, last))) if is_new else facts.qualname
        changed = (one.place for one in row.patch.changes if one.place.module == facts.module)
        names = frozenset(one.qualname for one in changed)
        text = self.texts.get(facts.path) or self._read(facts.path).replace("\r\n", "\n")
        module = ModuleText(facts.path, text, names)
        module.make(change, name, Definitions.of(str(file), separated(content)))
        if fault := parse(module.text.encode())[1]:
            raise ScaffoldError(fault)
        self.texts[facts.path] = module.text

    def _read(self, path: str) -> str:
        return (self.subject.source.read(path) or b"").decode(errors="surrogateescape")

    def diff(self) -> str:
        """Write a unified diff, as `git apply` takes it."""
        return "".join(line for path in sorted(self.texts) for line in self._diff(path))

    def _diff(self, path: str) -> Iterator[str]:
        old, new, is_new = self._read(path), self.texts[path], not self.subject.source.has(path)
        new = new.replace("\n", "\r\n") if "\r\n" in old else new
        if old == new:
            return
        yield f"diff --git a/{path} b/{path}\n"
        yield from ["new file mode 100644\n"] * is_new
        names = "/dev/null" if is_new else f"a/{path}", f"b/{path}"
        for line in unified_diff([*StringIO(old)], [*StringIO(new)], *names):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def exported(rows: Iterable[Row], coverage: Coverage, packs: Mapping[str, PackSource]) -> Export:
    """Make what rows change in the release of a coverage, which has one."""
    (subject,) = coverage.subjects
    found = Export(subject)
    for row in rows:
        found.add(row, coverage.due(row, subject), packs[row.pack])
    return found
