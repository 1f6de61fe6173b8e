#!/usr/bin/env python3
"""Carry forty drawn rows of vLLM from 0.28 to 0.33, and compare with `git merge-file`.

`python studies/rebased_rows.py [--seed N]` draws rows (`drawn_rows.py`), each a pack of its own,
and runs `patchkit rebase` from release to release. Each merge is made a second time by git alone.
Where git merges without a conflict, the row's code must be the same by syntax tree. Where git has a
conflict, the row is a conflict; or its code has every line as often as it must, given what both
sides put in and took out. A target that is gone must be reported. What conflicts is resolved by
hand, with upstream's lines of the conflict, and rebased again.

At each release, every row is exported (`exported_rows.py`), and its diff applied to the files of
the release. With `--imports PYTHON`, that of an environment with vLLM 0.32.0, ten of the changed
modules are imported from a copy of the package. With `--kills N`, N rebases are killed before each
thing that they do to a file of the pack (`killed_rebases.py`), and run again: the pack has to be
the same as without the kill.

It ends with 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from drawn_rows import KINDS, Drawing, DrawnRow, Release, imports_for
from exported_rows import Exports, Faults, run
from git_merges import git_merge, lines_lost
from killed_rebases import kill_each

from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.scaffold.row_edits import with_changes
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.edits import all_edited, edits, syntax_hash
from patchkit.core.rows.declaration import AddField, Edit
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchkit.core.rows.declaration import Change, Patch

VERSIONS = ("0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0")
IMPORTED = "0.32.0"


def patch_of(row: DrawnRow) -> Patch:
    """The row of a pack, as its file has it now."""
    sys.modules.pop(row.name, None)
    sys.path_importer_cache.clear()
    (declared,) = read_pack(row.name)
    return declared.patch


def changes_of(row: DrawnRow) -> list[Change]:
    """The changes of a row, as its file has them now."""
    return list(patch_of(row).changes)


def target_of(row: DrawnRow) -> str:
    """The target of a row by now."""
    return str(changes_of(row)[0].place)


def reasons(report: Mapping[str, Any]) -> str:
    """Why a row was not carried."""
    return "; ".join(str(one["reason"]) for one in report["conflicts"])


class Sides(NamedTuple):
    """What is merged for a row.

    Args:
        ours: The code that the row leads to in the old release.
        base: Upstream's code there; None if another file has it.
        theirs: Upstream's code in the later release; None if that does not have it there.
    """

    ours: str
    base: str | None
    theirs: str | None


class Carrier:
    """Carries rows from one release to the next, and compares.

    Args:
        old: The one release.
        new: The next one.
        faults: Where results are counted and faults noted.
    """

    def __init__(self, old: Release, new: Release, faults: Faults) -> None:
        self._old = old
        self._new = new
        self._faults = faults

    def carry(self, row: DrawnRow) -> bool:
        """Rebase a row; return whether it is for the later release then."""
        is_copy = row.kind.startswith(("Replace", "Edit"))
        target = target_of(row)
        ours = own_code(row, self._old) if is_copy else ""
        report = self.rebase(row)
        self._faults.counts[f"{row.kind}: {report['result']}"] += 1
        if not is_copy:
            return self._is_carried(row, target, report)
        if report["result"] == "conflict":
            sides = self._sides(row, ours, target, target)
            return self._is_resolved(row, target, sides, report)
        new_target = target_of(row)
        if new_target != target:
            self._faults.tell(row, f"{target} has moved to {new_target}")
            self._faults.counts["moved"] += 1
        self._compare(row, self._sides(row, ours, target, new_target), report["result"])
        return bool(report["result"] != "retired")

    def rebase(self, row: DrawnRow) -> dict[str, Any]:
        """Run `patchkit rebase`, and return what it reports of the row."""
        words = ["--patches", row.name, "--to", self._new.version, "--format", "json"]
        _, out, err = run("rebase", row.patch, *words)
        if not out:
            self._faults.add(row, f"no report: {err}")
            return {"result": "conflict", "conflicts": [], "review": []}
        (report,) = json.loads(out)["patches"]
        return dict(report)

    def _sides(self, row: DrawnRow, ours: str, old: str, new: str) -> Sides:
        """Read upstream's sides of a merge, for the target's old and new name."""
        by = row.changes[0].body_name
        base, theirs = (
            upstream_code(release, target, by)
            for release, target in ((self._old, old), (self._new, new))
        )
        if row.kind == "Replace by subclass":
            # Each has its own other members: only those of the subclass are merged.
            base, theirs = (with_members(ours, by, text) for text in (base, theirs))
        return Sides(ours, base, theirs)

    def _compare(self, row: DrawnRow, sides: Sides, result: str) -> None:
        """Compare what a row leads to in the later release with git's merge."""
        ours, base, theirs = sides
        if base is None or theirs is None:
            self._faults.tell(row, f"its target is defined elsewhere: {result}")
            return
        merge = git_merge(ours, base, theirs)
        if result == "retired":
            if not merge.is_clean or syntax_hash(merge.text) != syntax_hash(theirs):
                self._faults.add(row, "retired, and upstream does not have all of it")
            return
        merged = own_code(row, self._new)
        if merge.is_clean:
            self._faults.counts["merge: git merges, the same"] += 1
            if syntax_hash(merge.text) != syntax_hash(merged):
                self._faults.add(row, f"git merges\n{merge.text}\n---\n{merged}")
            return
        self._faults.counts["merge: git conflicts, merged"] += 1
        lost = lines_lost(ours, base, theirs, merged)
        if lost:
            self._faults.add(row, f"the lines {lost} in\n{merged}")

    def _is_carried(self, row: DrawnRow, target: str, report: dict[str, Any]) -> bool:
        """Check a row that has no copy of upstream's code; return whether it goes on."""
        result = report["result"]
        before, after = (release.defined(target) for release in (self._old, self._new))
        change = row.changes[0]
        is_there = row.kind == "Add" and after is not None
        if isinstance(change, AddField) and after:
            text = after[0].text(after[0].named[after[1]])
            is_there = f"    {change.name}:" in text
        if result in ("conflict", "retired"):
            self._faults.tell(row, f"{target}: {result} {reasons(report)}")
            if (result == "retired") != is_there:
                self._faults.add(row, f"{result}, upstream has it: {is_there}")
            return False
        if is_there:
            self._faults.add(row, f"{result}, and upstream has it by now")
        if before and after and row.kind != "Add":
            codes = [
                module.text(module.named[name]) for module, name in (before, after)
            ]
            is_changed = syntax_hash(codes[0]) != syntax_hash(codes[1])
            if is_changed and not report["review"]:
                self._faults.add(row, f"{result}, and no word of upstream's change")
        return True

    def _is_resolved(
        self, row: DrawnRow, target: str, sides: Sides, report: dict[str, Any]
    ) -> bool:
        """Check that a conflict is one of git's, and resolve it; return whether it is carried."""
        ours, base, theirs = sides
        if base is None or theirs is None:
            self._faults.tell(row, f"{target} is gone: {reasons(report)}")
            self._faults.counts["gone, and told"] += 1
            return False
        merge = git_merge(ours, base, theirs)
        if merge.is_clean:
            self._faults.tell(row, f"a conflict that git merges: {reasons(report)}")
            self._faults.counts["merge: git merges, a conflict"] += 1
            return False
        self._faults.counts["merge: git conflicts, told"] += 1
        text = merge.text
        if syntax_hash(text) == syntax_hash(theirs):
            text = with_own_line(text)
        self._write(row, ours, theirs, text)
        again = self.rebase(row)
        # Edits may fit both releases.
        is_carried = again["result"] == "merged" or (
            row.kind == "Edit" and again["result"] == "unchanged"
        )
        if not is_carried:
            found = f"{again['result']} {reasons(again)}"
            self._faults.add(row, f"resolved, and still {found}\n{text}")
            return False
        if syntax_hash(own_code(row, self._new)) != syntax_hash(text):
            self._faults.add(row, f"resolved, and changed:\n{text}")
        self._faults.counts["resolved by hand, and carried"] += 1
        return True

    def _write(self, row: DrawnRow, ours: str, theirs: str, text: str) -> None:
        """Write resolved code into the body, or as Edits into the row, as a person would."""
        if row.kind == "Edit":
            patch = patch_of(row)
            first, *others = changes_of(row)
            new: list[list[Change]] = [[], *[[] for _ in others]]
            for edit in edits(theirs, text) or ():
                new[0].append(first.__replace__(old=edit.old, new=edit.new))
            file = Path(row.name, "__init__.py")
            written = file.read_bytes()
            requires = tuple(patch.requires)
            file.write_bytes(with_changes(file, written, patch, new, requires))
            return
        body = body_file(row)
        module = self._new.defined(target_of(row))
        assert module
        imports = imports_for(module[0], text, row.changes[0].body_name)
        if row.kind == "Replace by subclass":
            content = body.read_text()
            assert content.count(ours) == 1
            body.write_text(content.replace(ours, text))
            return
        body.write_text(f"{imports}\n\n\n{text}\n")


def body_file(row: DrawnRow) -> Path:
    """The body of a row."""
    return Path(row.name, f"patch_{row.name}.py")


def own_code(row: DrawnRow, release: Release) -> str:
    """The code that a row leads to in a release that it is for."""
    changes = changes_of(row)
    if row.kind == "Edit":
        text = upstream_code(release, target_of(row), "") or ""
        return all_edited([one for one in changes if isinstance(one, Edit)], text)
    body = Definitions.of("body.py", body_file(row).read_bytes())
    name = changes[0].body_name
    return body.renamed(name, name)


def upstream_code(release: Release, target: str, by: str) -> str | None:
    """Upstream's code of a target, under the name that it has in a body; None if it is gone."""
    defined = release.defined(target)
    if defined is None:
        return None
    module, name = defined
    if by:
        return module.as_in_body(name, by)
    return module.renamed(name, name.rpartition(".")[2])


def with_members(ours: str, by: str, upstream: str | None) -> str | None:
    """Our subclass with the one member that it has as upstream's class has it."""
    own_class = Definitions.of("body.py", ours.encode())
    names = [name for name in own_class.named if name.startswith(f"{by}.")]
    if upstream is None or not names:
        return None
    name = names[0]
    upstream_class = Definitions.of("body.py", upstream.encode())
    if name not in upstream_class.named:
        return None
    old = own_class.text(own_class.named[name])
    return ours.replace(old, upstream_class.text(upstream_class.named[name]))


def with_own_line(text: str) -> str:
    """Put a line into a function, or into the first one of a class."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DEFS)]
    last = functions[0].body[-1]
    lines = text.split("\n")
    lines.insert(last.lineno - 1, f"{' ' * last.col_offset}own_line = 1")
    return "\n".join(lines)


def draw(
    drawing: Drawing, folder: Path, kinds: Sequence[tuple[str, str, int]]
) -> list[DrawnRow]:
    """Draw rows that `check` has nothing against, and write their packs."""
    rows: list[DrawnRow] = []
    for kind, fate, count in kinds:
        missing = count
        for row in drawing.rows(kind, fate):
            row.write(folder, "vllm>=0.28,<0.29")
            words = ["--releases", f"vllm=={VERSIONS[0]}", "--format", "json"]
            _, out, _ = run("check", row.patch, "--patches", row.name, *words)
            findings = json.loads(out)["findings"] if out else [{"severity": "error"}]
            if any(one["severity"] == "error" for one in findings):
                shutil.rmtree(folder / row.name)
                continue
            rows.append(row)
            missing -= 1
            if not missing:
                break
        print(f"{count - missing} of {count} rows: {kind}, {fate}", flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw rows, carry them, and export them."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().partition("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=28)
    parser.add_argument("--kind", help="such as 'Replace function'; default: all")
    parser.add_argument("--imports", metavar="PYTHON")
    parser.add_argument("--kills", type=int, default=0, metavar="N")
    parser.add_argument("--no-exports", action="store_true")
    options = parser.parse_args(arguments)
    chooser = random.Random(options.seed)
    faults = Faults()
    with tempfile.TemporaryDirectory() as top, Library() as library:
        os.chdir(top)
        sys.path.insert(0, top)
        releases = [
            Release(version, on_index(f"vllm=={version}", library)[-1].source)
            for version in VERSIONS
        ]
        for release in releases:
            release.source.prefetch(release.python_files)
        drawing = Drawing(releases, releases[0].python_files, chooser)
        kinds = [kind for kind in KINDS if options.kind in (None, kind[0])]
        rows = draw(drawing, Path(top), kinds)
        print(f"{len(rows)} rows")
        to_kill = chooser.sample(
            [row for row in rows if row.fate == "changes"], options.kills
        )
        for index, release in enumerate(releases):
            faults.version = release.version
            if index:
                for row in [row for row in to_kill if row in rows]:
                    kill_each(faults, row, release.version)
                carrier = Carrier(releases[index - 1], release, faults)
                rows = [row for row in rows if carrier.carry(row)]
            print(f"{release.version}: {len(rows)} rows", flush=True)
            if options.no_exports:
                continue
            exports = Exports(release, faults, Path(top, "tree"))
            for row in rows:
                target = target_of(row)
                code = ""
                if row.kind in ("Edit", "Replace function", "Replace class"):
                    code = own_code(row, release)
                exports.export(row, target, code)
            if options.imports and release.version == IMPORTED:
                exports.import_some(options.imports, chooser)
            exports.close()
        os.chdir("/")
    return faults.report()


if __name__ == "__main__":
    sys.exit(main())
