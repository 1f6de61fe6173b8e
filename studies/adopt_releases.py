#!/usr/bin/env python3
"""Make rows of the point releases of vLLM, and compare what they lead to with the later release.

`python studies/adopt_releases.py [OLD NEW]…` asks the package index; without arguments about five
pairs. A function counts as said if the Edits of its rows, or the body's function, have the
fingerprint that it has in the later release. It ends with 1 if fewer than 95% do.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.diffs.difference import ModuleDifference, difference
from patchkit.authoring.diffs.module_reads import name_for_module
from patchkit.authoring.source.definitions import Definitions
from patchkit.core.rows.declaration import Add, Edit, Replace
from patchkit.core.text.rewriting import FunctionText, TextEdit, rewrite

PAIRS = (
    ("0.20.0", "0.20.1"),
    ("0.20.1", "0.20.2"),
    ("0.22.0", "0.22.1"),
    ("0.25.0", "0.25.1"),
    ("0.27.0", "0.27.1"),
)


def mark(text: str) -> str:
    """Hash a function, whatever its name."""
    body = ast.parse(text if text[:1].strip() else f"if 1:\n{text}").body
    return of_nodes(
        getattr(body[0], "body", body) if text[:1].isspace() else body, named=False
    )


def result(found: ModuleDifference, before: Definitions, name: str) -> str | None:
    """The text that the rows lead to; None where there is no row."""
    mine = [one for one in found.changes if str(one.place) == f"{found.module}:{name}"]
    if not mine:
        return None
    if isinstance(mine[0], (Add, Replace)):
        own = f"{name_for_module(found.after)}."  # names that are read from the module
        return found.code.parts[mine[0].by].replace(own, "")
    text = before.text(before.named[name])
    for one in mine:
        assert isinstance(one, Edit)
        text = rewrite(FunctionText(text), TextEdit(one.old, one.new)).text
    return text


def compare(path: str, old: bytes, new: bytes) -> Counter[str]:
    """Count the functions of a file that differ, by what becomes of them."""
    counts: Counter[str] = Counter()
    before, after = Definitions.of(path, old), Definitions.of(path, new)
    found = difference(path, old, new)
    for name, node in after.named.items():
        owner = name.rpartition(".")[0]
        if not isinstance(node, DEFS) or (owner and owner not in before.named):
            continue
        known = before.named.get(name)
        if known and of_nodes([known]) == of_nodes([node]):
            continue
        kind = "changed" if known else "new"
        text = result(found, before, name)
        is_same = text is not None and mark(text) == mark(after.text(node))
        counts[f"{kind} functions"] += 1
        counts[f"{kind} functions said"] += is_same
        if not is_same:
            print(f"  not said: {found.module}:{name}")
    counts["other differences"] = len(found.left)
    for one in found.left:
        print(f"  left: {one.place} line {one.line}: {one.reason}")
    return counts


def main(words: list[str]) -> int:
    """Compare each pair."""
    total: Counter[str] = Counter()
    pairs = list(zip(words[::2], words[1::2], strict=True)) or PAIRS
    with Library() as library:
        for old, new in pairs:
            first, second = (
                find_releases(f"vllm=={one}", library)[-1].source for one in (old, new)
            )
            paths = sorted(
                path
                for path in first.paths() | second.paths()
                if path.startswith("vllm/")
                and path.endswith(".py")
                and path != "vllm/_version.py"
                and first.mark(path) != second.mark(path)
            )
            first.prefetch(paths)
            second.prefetch(paths)
            counts: Counter[str] = Counter()
            for path in paths:
                before, after = first.read(path), second.read(path)
                if before is None or after is None:
                    print(f"  {'new' if before is None else 'gone'} file: {path}")
                    counts["files that are new or gone"] += 1
                else:
                    counts += compare(path, before, after)
            print(f"{old} to {new}: {len(paths)} files, {dict(counts)}")
            total += counts
    print(dict(total))
    kinds = ("changed functions", "new functions")
    said, all_ = (sum(total[f"{kind}{end}"] for kind in kinds) for end in (" said", ""))
    print(f"{said} of {all_} functions are said")
    return int(said < 0.95 * all_)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
