"""Exports rows, and applies each diff to the files of a release; for `rebased_rows.py`."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.edits import syntax_hash
from patchkit.cli import main as patchkit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from drawn_rows import DrawnRow, Release

GIT = ("git", "-c", "user.name=study", "-c", "user.email=study@localhost")
SAMPLE = 10
"""How many changed modules are imported."""


def run(*words: str) -> tuple[int, str, str]:
    """Run a command of patchkit in this process, which reads the packs anew.

    Returns:
        Its exit code, its output and its errors.
    """
    for name in [*sys.modules]:
        if name.startswith("row_"):
            del sys.modules[name]
    sys.path_importer_cache.clear()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = patchkit(list(words))
    return code, out.getvalue(), err.getvalue()


class Faults:
    """What a study has seen."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.version = ""
        self._count = 0

    def add(self, row: DrawnRow, text: str) -> None:
        """Note what must not be."""
        self._count += 1
        print(f"FAULT {row.name} {self.version} ({row.kind}, {row.target}): {text}")

    def tell(self, row: DrawnRow, text: str) -> None:
        """Print what a person may want to look at."""
        print(f"  {row.name} {self.version} ({row.kind}): {text}")

    def report(self) -> int:
        """Print the counts; return the exit code of the study."""
        for name, count in sorted(self.counts.items()):
            print(f"{count:4} {name}")
        print(f"{self._count} faults")
        return int(bool(self._count))


class Exports:
    """The diffs of rows, each applied to the files of a release.

    Args:
        release: The release.
        faults: Where results are counted and faults noted.
        tree: A folder that is made for the files of the release, under git.
    """

    def __init__(self, release: Release, faults: Faults, tree: Path) -> None:
        self._release = release
        self._faults = faults
        self._tree = tree
        self._applied: list[tuple[DrawnRow, dict[str, bytes]]] = []
        for path in release.python_files:
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(release.source.read(path) or b"")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "release"]):
            subprocess.run([*GIT, *words], cwd=tree, check=True)

    def close(self) -> None:
        """Delete the files."""
        shutil.rmtree(self._tree)

    def export(self, row: DrawnRow, target: str, code: str) -> None:
        """Export a row and apply the diff; what is not in it has to be listed.

        Args:
            row: The row.
            target: Its target in the release.
            code: What the definition is to be then; '' if that is not looked at.
        """
        release = f"vllm=={self._release.version}"
        words = ["--patches", row.name, "--releases", release]
        exit_code, diff, err = run("export", row.patch, *words)
        is_listed = exit_code == 1 and "is not in the diff" in err
        if not diff:
            self._faults.counts["export: listed"] += 1
            if not is_listed:
                self._faults.add(row, f"no diff, and not listed: {err}")
            elif row.kind != "Wrap":
                self._faults.tell(row, err.strip())
            return
        if is_listed:
            self._faults.add(row, f"half a row: {err}")
        error = self._apply(diff)
        if error:
            self._faults.add(row, f"git apply: {error}")
            return
        self._faults.counts["export: applied"] += 1
        changed = self._take_changed()
        for path, text in changed.items():
            try:
                compile(text, path, "exec", dont_inherit=True)
            except SyntaxError as error:
                self._faults.add(row, f"{path}: {error}")
        self._applied.append((row, changed))
        if code:
            self._compare(row, changed, target, code)

    def _apply(self, diff: str) -> str:
        """Let git apply a diff; return its error."""
        for words in (["--check"], []):
            done = subprocess.run(
                [*GIT, "apply", *words, "-"],
                cwd=self._tree,
                input=diff.encode(errors="surrogateescape"),
                capture_output=True,
                check=False,
            )
            if done.returncode:
                return done.stderr.decode()
        return ""

    def _take_changed(self) -> dict[str, bytes]:
        """Return the files that a diff has changed, and give the tree back its own."""
        listed = subprocess.run(
            [*GIT, "diff", "--name-only"],
            cwd=self._tree,
            capture_output=True,
            text=True,
            check=True,
        )
        changed = {
            path: (self._tree / path).read_bytes() for path in listed.stdout.split()
        }
        subprocess.run([*GIT, "checkout", "-q", "."], cwd=self._tree, check=True)
        return changed

    def _compare(
        self, row: DrawnRow, changed: Mapping[str, bytes], target: str, code: str
    ) -> None:
        """Compare a definition in the changed files with the code of the row."""
        name = target.partition(":")[2]
        for path, text in changed.items():
            module = Definitions.of(path, text)
            if name not in module.named:
                continue
            made = module.renamed(name, name.rpartition(".")[2])
            if syntax_hash(made) == syntax_hash(code):
                self._faults.counts["export: the same code"] += 1
            else:
                self._faults.counts["export: other code"] += 1
                self._faults.tell(row, f"other code:\n{code}\n---\n{made}")

    def import_some(self, python: str, chooser: Random) -> None:
        """Import changed modules from a copy of the package, which has links to the other files.

        Args:
            python: That of an environment with the release.
            chooser: Chooses them.
        """
        where = [python, "-c", "import vllm; print(vllm.__path__[0])"]
        done = subprocess.run(where, capture_output=True, text=True, check=True)
        package = Path(done.stdout.split()[-1])
        size = min(SAMPLE, len(self._applied))
        for row, changed in chooser.sample(self._applied, size):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["cp", "-rs", str(package), folder], check=True)
                for path, text in changed.items():
                    self._import(python, row, Path(folder, path), text)

    def _import(self, python: str, row: DrawnRow, file: Path, text: bytes) -> None:
        """Import a module as it is changed; its error may be one that the release has, too."""
        folder = file
        while (folder / "__init__.py").exists() or folder == file:
            folder = folder.parent
        name = ".".join(file.relative_to(folder).with_suffix("").parts)
        module = name.removesuffix(".__init__")
        original = file.read_bytes()
        file.unlink()  # a link to the installed file
        file.write_bytes(text)
        error = imported(python, folder, module)
        self._faults.counts[f"import: {error or 'fine'}"] += 1
        if error:
            file.write_bytes(original)
            if error != imported(python, folder, module):
                self._faults.add(row, f"import of {module}: {error}")


def imported(python: str, folder: Path, module: str) -> str:
    """Import a module in a process of its own; return the last line of an error."""
    where = repr(str(folder))
    code = (
        f"import sys; sys.path.insert(0, {where}); import {module} as m; "
        f"assert m.__file__.startswith({where}), m.__file__"
    )
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False, timeout=600
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""
