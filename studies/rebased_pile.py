#!/usr/bin/env python3
"""Carry the rows of an adopted pile to the next release, and look at what the merges keep.

`python studies/rebased_pile.py [--to VERSION]` adopts vllm-ascend 0.23.0, as `adopt_piles.py` does,
and rebases each change alone. Of the targets that upstream has changed, and whose bodies copy
upstream's text, it counts those that merge. Each merge is made a second time by `git merge-file`
itself: without a conflict of git's the texts are the same, and in no case is a line lost that
either side has added.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import adopt_piles
from foreign_piles import PILES

from patchkit.analysis.check.comparison import compare
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.check.packs import PackSource, read_packs
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.piles.guards import CODE
from patchkit.authoring.rebase.rebasing import Rebase
from patchkit.authoring.source.definitions import Definitions
from patchkit.core.rows.declaration import Replace, Row
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.analysis.check.releases import CheckedRelease


def carried(row: Row, old: CheckedRelease, new: CheckedRelease) -> str:
    """Rebase a row of one change; say what became of it, and check what a merge made."""
    done = Rebase(row, old, new, PackSource(row.pack))
    before = _text(done, row)
    done.run()
    (change,) = row.patch.changes
    if done.conflicts:
        (conflict,) = done.conflicts
        return "conflict" if conflict.text else f"other: {conflict.reason}"
    if done.result == "merged" and isinstance(change, Replace) and before:
        _compare(row, old, new, before, _text(done, row))
        return "merged"
    return done.result


def _text(done: Rebase, row: Row) -> str:
    """The body's definition, as a module has it; '' where the body has none of that name."""
    (change,) = row.patch.changes
    body = PackSource(row.pack).bodies.get(row.patch.body or "")
    if body and change.body_name.startswith(CODE):
        body = body.with_name(body.name.replace("patch", "code", 1))
    text = done.body.text if done.body else body.read_text() if body else ""
    name = change.body_name.removeprefix(CODE)
    found = Definitions.of("body.py", text.encode())
    return found.renamed(name, name.rpartition(".")[2]) if name in found.named else ""


def _compare(
    row: Row, old: CheckedRelease, new: CheckedRelease, ours: str, made: str
) -> None:
    """Merge with git alone, and compare; AssertionError where a line is lost."""
    (change,) = row.patch.changes
    found = compare(change.place, old, new)
    last = change.body_name.rpartition(".")[2]
    texts = []
    for subject, side in ((old, found.old), (new, found.new)):
        module = Definitions.of(
            side.facts.path, subject.source.read(side.facts.path) or b""
        )
        texts.append(module.renamed(side.facts.qualname, last))
    base, theirs = texts
    with TemporaryDirectory() as folder:
        for name, text in {"ours": ours, "base": base, "theirs": theirs}.items():
            Path(folder, name).write_text(f"{text.rstrip()}\n")
        done = subprocess.run(
            ["git", "merge-file", "-p", "ours", "base", "theirs"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    lines = {one.strip() for one in made.splitlines()}
    if done.returncode == 0:
        assert {one.strip() for one in done.stdout.splitlines()} <= lines, (
            done.stdout,
            made,
        )
    for text in (ours, theirs):
        added = {one.strip() for one in text.splitlines()} - {
            x.strip() for x in base.splitlines()
        }
        assert added <= lines, (added - lines, made)


def main(arguments: Sequence[str] | None = None) -> int:
    """Rebase each change, and count."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().partition("\n")[0]
    )
    parser.add_argument("--to", default="0.24.0", help="the release to carry them to")
    options = parser.parse_args(arguments)
    folder = adopt_piles.PILES_FOLDER
    pile = PILES[0]
    pack = adopt_piles.adopt(pile, folder).pack
    sys.path[:0] = [str(folder), str(folder / pile.name)]
    rows, _ = read_packs(Settings(), [pack])
    counts: Counter[str] = Counter()
    with Library() as library:
        old, new = (
            on_index(f"vllm=={one}", library)[-1] for one in ("0.23.0", options.to)
        )
        for row in (one for one in rows if one.pack == pack):
            for change in row.patch.changes:
                if (
                    change.place.module.partition(".")[0] == "vllm"
                    and change.kind != "Add"
                ):
                    alone = row.__replace__(
                        patch=row.patch.__replace__(changes=(change,))
                    )
                    result = carried(alone, old, new)
                    counts[result] += 1
                    if result in ("merged", "conflict"):
                        print(f"{result:10} {change.place}")
    for result, count in counts.most_common():
        print(f"{count:4} {result}")
    copies = counts["merged"] + counts["conflict"]
    print(f"{counts['merged']} of {copies} changed copies merge")
    return int(counts["merged"] < 0.6 * copies)


if __name__ == "__main__":
    sys.exit(main())
