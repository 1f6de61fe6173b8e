"""A pile as it is observed: imported in a child, where stubs stand for what is not here."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from patchkit.authoring.adopt import observing
from patchkit.core.rows.declaration import Patch
from patchkit.errors import ScaffoldError


@dataclass
class PileObservation:
    """What attributes a pile has changed, beside what its rows change."""

    changes: Sequence[dict[str, Any]]
    faults: dict[str, str] = field(default_factory=dict)  # modules that could not be imported
    unread: list[dict[str, Any]] = field(default_factory=list)
    """Changes that no row makes."""
    inactive: list[str] = field(default_factory=list)
    """Targets of rows that the pile leaves alone here."""
    copies: dict[str, list[str]] = field(default_factory=dict)
    """Copies of originals that the pile leaves, and `rebind=True` would repoint."""

    def compare(self, patches: Iterable[Patch]) -> None:
        """Say what rows and the pile do not have in common."""
        targets = {str(one.place): one.rebind for patch in patches for one in patch.changes}
        seen = {one["target"]: one for one in self.changes}
        sweeps = {one["by"] for target, one in seen.items() if targets.get(target)}
        others = (one for target, one in seen.items() if target not in targets)
        self.unread = [one for one in others if one["by"] not in sweeps and one["by"][-1:] != ":"]
        self.inactive = [one for one in targets if ":" in one and one not in seen]
        left = {one: seen[one]["copies"] for one in seen if targets.get(one) is False}
        self.copies = {target: copies for target, copies in left.items() if copies}


def observe(
    modules: Sequence[str],
    first: Sequence[str],
    stubs: Sequence[str],
    packages: Iterable[str],
    path: Path | None = None,
) -> PileObservation:
    """Import modules in a child, after those that they change; ScaffoldError where it dies."""
    with TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        asked: dict[str, Any] = {"modules": modules, "first": first, "stubs": stubs}
        asked |= {"packages": sorted(packages), "answer": str(answer)}
        paths = filter(None, (str(path or ""), os.environ.get("PYTHONPATH")))
        environ = {"PYTHONHASHSEED": "0", "PATCHKIT": "0", "PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-B", str(observing.__file__)],
            input=json.dumps(asked),
            env=os.environ | environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not answer.exists():
            raise ScaffoldError(f"--observe: the child ended with {done.returncode}: {done.stderr}")
        told = json.loads(answer.read_text("utf-8"))
    return PileObservation(told["changes"], told["faults"])


@contextmanager
def importable(named: str) -> Iterator[Path | None]:
    """Have a package where a child can import it; None where it is installed."""
    place = Path(named)
    if place.is_dir():
        outer = place.resolve()
        while (outer / "__init__.py").exists():
            outer = outer.parent
        yield outer
    elif named.endswith(".whl"):
        with TemporaryDirectory() as folder, ZipFile(place) as archive:
            archive.extractall(folder)
            yield Path(folder)
    elif "=" in named:
        raise ScaffoldError(f"--observe: found {named}, expected a wheel, folder or package here")
    else:
        yield None
