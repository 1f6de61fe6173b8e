"""What rows make of a release, as a diff of its files."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import NamedTuple

from patchkit.adopt.definitions import Definitions
from patchkit.adopt.transplant import ModuleText
from patchkit.check.coverage import Coverage
from patchkit.check.packs import PackSource
from patchkit.check.subjects import Subject
from patchkit.errors import ScaffoldError, TargetError
from patchkit.rows.declaration import Change, Provide, Row
from patchkit.upstream.reading.files import parse

_CONDITION = "it is made under a condition, which a diff cannot have"
_NO_END = "\n\\ No newline at end of file\n"


class Unwritten(NamedTuple):
    """A change that a diff does not have, and why."""

    patch: str
    target: str
    reason: str


@dataclass
class Export:
    """The files of a release, as rows change them."""

    subject: Subject
    texts: dict[str, str] = field(default_factory=dict)
    unwritten: list[Unwritten] = field(default_factory=list)

    def add(self, row: Row, changes: Iterable[Change], pack: PackSource) -> None:
        """Make the changes of a row; those that cannot be written are listed, and leave no trace.

        Raises:
            UpstreamError: the release, or the row's body, cannot be read.
        """
        for change in changes:
            kept = dict(self.texts)
            try:
                if row.patch.when or row.patch.env or change.when:
                    raise ScaffoldError(_CONDITION)
                self._make(row, change, pack)
            except (ScaffoldError, TargetError) as error:
                self.texts = kept
                reason = str(error).partition("\n")[0]
                self.unwritten.append(Unwritten(row.name, str(change.place), reason))

    def _make(self, row: Row, change: Change, pack: PackSource) -> None:
        body = pack.bodies.get(row.patch.body or "")
        content = body.read_bytes() if body else b""
        if isinstance(change, Provide):
            self._provide(change, content)
            return
        is_new = change.kind == "Add"
        facts = self.subject.facts(change.place.holder if is_new else change.place)
        if not facts.is_present:
            raise ScaffoldError(facts.reason or "it is not there")
        last = change.place.qualname.rpartition(".")[2]
        name = ".".join(filter(None, (facts.qualname, last))) if is_new else facts.qualname
        changed = (one.place for one in row.patch.changes if one.place.module == facts.module)
        names = frozenset(one.qualname for one in changed)
        module = ModuleText(facts.path, self._text(facts.path), names)
        module.make(change, name, Definitions.of(str(body), content) if body else None)
        _, fault = parse(module.text.encode())
        if fault:
            raise ScaffoldError(fault)
        self.texts[facts.path] = module.text

    def _provide(self, change: Provide, content: bytes) -> None:
        if change.by != "__all__":
            raise ScaffoldError(f"{change.by} makes the module as it is imported")
        self.texts[f"{change.module.replace('.', '/')}.py"] = content.decode()

    def _text(self, path: str) -> str:
        old = self.subject.source.read(path) or b""
        return self.texts.get(path) or old.decode(errors="surrogateescape").replace("\r\n", "\n")

    def diff(self) -> str:
        """Write a unified diff, as `git apply` takes it."""
        return "".join(line for path in sorted(self.texts) for line in self._diff(path))

    def _diff(self, path: str) -> Iterator[str]:
        content, new = self.subject.source.read(path), self.texts[path]
        old = (content or b"").decode(errors="surrogateescape")
        new = new.replace("\n", "\r\n") if "\r\n" in old else new
        if old == new:
            return
        yield f"diff --git a/{path} b/{path}\n"
        yield from ["new file mode 100644\n"] * (content is None)
        names = "/dev/null" if content is None else f"a/{path}", f"b/{path}"
        for line in unified_diff(_lines(old), _lines(new), *names):
            yield line if line.endswith("\n") else f"{line}{_NO_END}"


def _lines(text: str) -> list[str]:
    return [one for one in re.split(r"(?<=\n)", text) if one]


def exported(rows: Iterable[Row], coverage: Coverage, packs: Mapping[str, PackSource]) -> Export:
    """Make what rows change in the release of a coverage, which has one."""
    (subject,) = coverage.subjects
    found = Export(subject)
    for row in rows:
        found.add(row, coverage.due(row, subject), packs[row.pack])
    return found
