#!/usr/bin/env python3
"""Adopt a hundred text edits of vLLM, run each by its own tool, too, and compare the functions.

`python studies/adopt_scripts.py` asks the package index; with a word behind it, it takes the edits
with that in their names. They are those of `script_edits.py` and `more_script_edits.py`: lines of
sed, Python programs, lines of Dockerfiles, and diffs. Each is run with a shell, `python3` or
`git apply` on a copy of the release, and adopted with `patchkit adopt`. A definition counts as the
same if the rows lead to the syntax tree that the tool has left, and as listed if adopt says that it
is not expressed. It ends with 1 if one is neither, or if an edit that changes nothing is not
listed.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import more_script_edits
import script_edits

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.authoring.source.definitions import Definitions
from patchkit.cli import main as patchkit
from patchkit.core.rows.declaration import AddField, Edit, Patch, Provide
from patchkit.core.text.rewriting import FunctionText, TextEdit, rewrite
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RELEASE = "vllm==0.32.0"
INSTALLED = "/usr/local/lib/python3.12/dist-packages"
GIT = ("git", "-c", "user.name=study", "-c", "user.email=study@localhost")


class Publication(NamedTuple):
    """One edit, as a file that somebody publishes.

    Args:
        name: The name of the file.
        text: What is in it; `SITE` stands for the folder of packages.
        command: What its own tool is, in a shell; `FILE` stands for the file.
    """

    name: str
    text: str
    command: str


def publications(reference: Path) -> Iterator[Publication]:
    """Every edit as the file that it would be."""
    for start, edits in (("", script_edits), ("more_", more_script_edits)):
        for number, text in enumerate(edits.SED, 1):
            yield Publication(f"{start}sed_{number}.sh", text + "\n", "sh FILE")
        for number, text in enumerate(edits.PYTHON, 1):
            command = "PYTHONPATH=. python3 FILE"
            yield Publication(f"{start}patcher_{number}.py", text, command)
        for number, text in enumerate(edits.DOCKERFILE, 1):
            file = f"FROM vllm/vllm-openai:v0.32.0\n{text}\n"
            name = f"Dockerfile.{start}edit_{number}"
            yield Publication(name, file, shell_of(text))
        for number, replacements in enumerate(edits.DIFF, 1):
            text = diff_of(reference, replacements)
            yield Publication(f"{start}change_{number}.diff", text, "git apply FILE")


def shell_of(dockerfile: str) -> str:
    """What a person would type for the lines of a Dockerfile, without installations."""
    text = re.sub(r"\\\n", "", dockerfile)
    text = re.sub(r"^WORKDIR (\S+)$", r"cd \1", text, flags=re.M)
    text = re.sub(r"^(?:ENV|ARG) (\S+)$", r"\1", text, flags=re.M)
    text = re.sub(r"^SHELL .*\n", "", text, flags=re.M)
    text = re.sub(r"^COPY <<EOF (\S+)$", r"cat > \1 <<EOF", text, flags=re.M)
    whole = re.fullmatch(r"RUN <<EOF\n(.*)EOF", text, flags=re.S)
    if whole:
        return whole[1]
    text = re.sub(r"apt-get [^&]*&&", "", text)
    text = text.replace("&&     rm -rf /var/lib/apt/lists/*", "")
    words = re.fullmatch(r"RUN (\[.*\])", text)
    if words:
        return " ".join(f"'{word}'" for word in json.loads(words[1]))
    return re.sub(r"^RUN ", "", text, flags=re.M)


def diff_of(reference: Path, replacements: Sequence[Sequence[str]]) -> str:
    """A diff as `git diff` writes it."""
    texts: dict[str, str] = {}
    for name, old, new in replacements:
        path = f"vllm/{name}"
        text = texts.get(path) or (reference / path).read_text("utf-8")
        assert text.count(old) >= 1, (path, old)
        texts[path] = text.replace(old, new, 1)
    lines: list[str] = []
    for path, text in texts.items():
        before = (reference / path).read_text("utf-8").splitlines(keepends=True)
        after = text.splitlines(keepends=True)
        lines.append(f"diff --git a/{path} b/{path}\n")
        lines += difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")
    return "".join(lines)


def unpack(folder: Path) -> None:
    """Write the Python files of the release, and commit them, to have them back after each edit."""
    with Library() as library:
        source = find_releases(RELEASE, library)[-1].source
        paths = sorted(path for path in source.paths() if path.endswith(".py"))
        source.prefetch(paths)
        for path in paths:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read(path) or b"")
    information = folder / "vllm-0.32.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0\n"
    )
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "release"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


def run_own_tool(
    edit: Publication, file: Path, reference: Path
) -> dict[str, bytes | None]:
    """Run an edit by its own tool; return the modules that it has changed, and take them back.

    None stands for a module that is gone.
    """
    own = file.with_name(f"own_{edit.name}")
    own.write_text(edit.text.replace("SITE", str(reference)))
    command = edit.command.replace("SITE", str(reference)).replace("FILE", str(own))
    done = subprocess.run(
        ["bash" if "pushd" in command else "sh", "-c", command],
        cwd=reference,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (edit.name, command, done.stderr)
    listed = subprocess.run(
        [*GIT, "status", "--porcelain", "-uall"],
        cwd=reference,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [line[3:] for line in listed.stdout.splitlines()]
    changed: dict[str, bytes | None] = {}
    for path in paths:
        file = reference / path
        changed[path] = file.read_bytes() if file.exists() else None
    for words in (["checkout", "-q", "."], ["clean", "-fdq"]):
        subprocess.run([*GIT, *words], cwd=reference, check=True)
    return {path: text for path, text in changed.items() if path.endswith(".py")}


def adopt(edit: Publication, file: Path, pack: str) -> tuple[dict[str, Any], str]:
    """Adopt an edit; return the report, and what is said on stderr."""
    file.write_text(edit.text.replace("SITE", INSTALLED))
    words = [
        "adopt",
        str(file),
        "--into",
        pack,
        "--releases",
        RELEASE,
        "--format",
        "json",
    ]
    if not file.name.endswith(".diff"):
        words += ["--from-script", "--yes"]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = patchkit(words)
    assert code in (0, 1), (edit.name, err.getvalue())
    report: dict[str, Any] = json.loads(out.getvalue())
    return report, err.getvalue()


def marked(text: str) -> str:
    """Hash a definition; a method stands in some block then."""
    if text[:1].isspace():
        (block,) = ast.parse(f"if 1:\n{text}").body
        assert isinstance(block, ast.If)
        return of_nodes(block.body, named=False)
    return of_nodes(ast.parse(text).body, named=False)


def items_of(node: Any) -> dict[Any, str]:
    """By key, the values of a table that is assigned, as syntax trees."""
    table = getattr(node, "value", None)
    if not isinstance(table, ast.Dict):
        return {}
    return {
        key.value: ast.dump(value)
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant)
    }


class Rows:
    """What the rows of a pack make of a release.

    Args:
        pack: The name of the pack, in the working directory; it may not be there.
    """

    def __init__(self, pack: str) -> None:
        self._pack = pack
        self._patches: list[Patch] = []
        if Path(pack).exists():
            self._patches = [row.patch for row in read_pack(pack)]

    def text(self, target: str, before: str) -> str | None:
        """The text that a definition has with the rows; None if they do not change it."""
        edited = None
        for patch in self._patches:
            for change in patch.changes:
                place = str(change.place)
                if isinstance(change, AddField):
                    place = f"{place}.{change.name}"
                if place != target:
                    continue
                if isinstance(change, Edit):
                    edit = TextEdit(change.old, change.new, change.count)
                    edited = rewrite(FunctionText(edited or before), edit).text
                elif isinstance(change, AddField):
                    edited = f"{target.rpartition('.')[2]}: {change.type} = {change.default!r}"
                else:
                    edited = self._of_body(patch, change.body_name)
        return edited

    def have_items(self, target: str, known: Any, node: Any) -> bool:
        """Whether the rows set each item of a table that an edit has changed."""
        before, after = items_of(known), items_of(node)
        keys = [key for key in after if before.get(key) != after[key]]
        if not before or not keys or not set(before) <= set(after):
            return False
        for key in keys:
            text = self.text(f"{target}[{key!r}]", "")
            value = getattr(ast.parse(text or "pass").body[0], "value", None)
            if value is None or ast.dump(value) != after[key]:
                return False
        return True

    def provided(self, module: str) -> bytes | None:
        """The text of a module that the rows provide."""
        for patch in self._patches:
            for change in patch.changes:
                if isinstance(change, Provide) and change.module == module:
                    return self._body(patch)
        return None

    def _of_body(self, patch: Patch, name: str) -> str:
        body = Definitions.of("body.py", self._body(patch))
        return body.text(body.named[name])

    def _body(self, patch: Patch) -> bytes:
        return Path(self._pack, f"{patch.body}.py").read_bytes()


def compare(
    path: str, old: bytes, new: bytes, rows: Rows, listed: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield each definition that the tool has changed: its target, and what adopt makes of it."""
    before, after = Definitions.of(path, old), Definitions.of(path, new)
    module = after.tree.name
    for name in {**before.named, **after.named}:
        target = f"{module}:{name}"
        known, node = before.named.get(name), after.named.get(name)
        if node is not None and isinstance(node, ast.ClassDef) and known is not None:
            # Its members are compared; here only its head.
            old_head, new_head = (
                ast.unparse(
                    ast.ClassDef("C", one.bases, one.keywords, [ast.Pass()], [])
                )
                for one in (known, node)
                if isinstance(one, ast.ClassDef)
            )
            if old_head == new_head:
                continue
        elif (
            known is not None
            and node is not None
            and of_nodes([known]) == of_nodes([node])
        ):
            continue
        owner = name.rpartition(".")[0]
        if node is not None and owner and owner not in before.named:
            continue  # it comes with its class
        text = rows.text(target, before.text(known) if known else "")
        wanted = after.text(node) if node is not None else None
        is_same = False
        if text is not None and wanted is not None:
            is_same = marked(text) == marked(wanted)
        if is_same or rows.have_items(target, known, node):
            yield target, "same"
        elif target in listed or module in listed:
            yield target, "listed"
        else:
            yield target, "neither"


def outcome(
    changed: dict[str, bytes | None],
    report: dict[str, Any],
    pack: str,
    reference: Path,
) -> Counter[str]:
    """Count the definitions of an edit by what adopt makes of them, and print those of no row."""
    counts: Counter[str] = Counter()
    listed = {left["place"] for left in report["left"]}
    rows = Rows(pack)
    for path, new in changed.items():
        file = reference / path
        if new is None:
            is_listed = path in {left["file"] for left in report["left"]}
            counts["listed" if is_listed else "neither"] += 1
            continue
        if not file.exists():
            module = path.removesuffix(".py").replace("/", ".")
            provided = rows.provided(module)
            # A body ends with the names that it provides.
            is_same = provided is not None and provided.startswith(new.rstrip())
            counts["same" if is_same else "neither"] += 1
            continue
        for target, what in compare(path, file.read_bytes(), new, rows, listed):
            counts[what] += 1
            if what != "same":
                print(f"  {what}: {target}")
    for left in report["left"]:
        print(f"  not expressed: {left['place'] or left['code']}: {left['reason']}")
    return counts


def main() -> int:
    """Compare every edit."""
    total: Counter[str] = Counter()
    empty: list[str] = []
    unlisted: list[str] = []
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        sys.path.insert(0, top)
        reference = Path(top, "reference")
        reference.mkdir()
        unpack(reference)
        for number, edit in enumerate(publications(reference)):
            if not all(word in edit.name for word in sys.argv[1:2]):
                continue
            folder = Path(top, f"edit_{number}")
            folder.mkdir()
            file = folder / edit.name
            changed = run_own_tool(edit, file, reference)
            pack = f"pack_{number}"
            report, said = adopt(edit, file, pack)
            sys.path_importer_cache.clear()
            counts = outcome(changed, report, pack, reference)
            print(f"{edit.name}: {len(changed)} files, {dict(counts)}", flush=True)
            if "which this system does not" in said:
                print(f"  {said.splitlines()[-1]}")
            if not counts:
                empty.append(edit.name)
            lost = sum(is_lost(left["reason"]) for left in report["left"])
            if lost != more_script_edits.LOST.get(edit.name, 0):
                unlisted.append(edit.name)
            total += counts
    print(f"{number + 1} edits: {dict(total)}")
    if empty:
        print(f"without any change: {', '.join(empty)}")
    if unlisted:
        print(f"with another number of lost edits: {', '.join(unlisted)}")
    return int(bool(total["neither"] or empty or unlisted))


def is_lost(reason: str) -> bool:
    """Whether something is listed as an edit that has changed nothing."""
    return "it changed nothing" in reason or "and the script went on" in reason


if __name__ == "__main__":
    sys.exit(main())
