"""What two sides made of one text, merged by git; changes that only touch are both made."""

import re
import subprocess
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from patchkit.authoring.adopt.edits import hunks
from patchkit.errors import ScaffoldError

_SIDES = ("ours", "base", "theirs")
_CONFLICT = re.compile(
    r"^<{7} [^\n]*\n(.*?)^\|{7} [^\n]*\n(.*?)^={7}\n(.*?)^>{7} [^\n]*\n", re.DOTALL | re.MULTILINE
)


class Merged(NamedTuple):
    """A merged text; where the sides disagree, conflicts with git's markers stand in it."""

    text: str

    @property
    def conflicts(self) -> list[str]:
        """The parts that are a person's to decide, markers included."""
        return [found[0] for found in _CONFLICT.finditer(f"{self.text}\n")]


def merged(base: str, ours: str, theirs: str) -> Merged:
    """Merge what two sides made of a text; ScaffoldError where there is no git to do it."""
    with TemporaryDirectory() as folder:
        for side, text in zip(_SIDES, (ours, base, theirs), strict=True):
            Path(folder, side).write_text(f"{text.rstrip()}\n", "utf-8")
        labels = [word for side in ("yours", "before", "upstream") for word in ("-L", side)]
        command = ["git", "merge-file", "-p", "--diff3", *labels, *_SIDES]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603
        except OSError as error:
            raise ScaffoldError(f"git: {error.strerror}, expected it on PATH: it merges") from error
    if not 0 <= done.returncode <= 127:  # the number of conflicts
        raise ScaffoldError(f"git merge-file: {done.stderr.decode(errors='replace').strip()}")
    return Merged(_CONFLICT.sub(_apart, done.stdout.decode("utf-8")).rstrip("\n"))


def _apart(conflict: re.Match[str]) -> str:
    """Make both changes of a conflict, where git minds only that they touch."""
    ours, base, theirs = (text.splitlines(keepends=True) for text in conflict.groups())
    sides = [(side, one) for side in (ours, theirs) for one in hunks(base, side)]
    changes = sorted({(start, end, tuple(side[a:b])) for side, (start, end, a, b) in sides})
    for (first, end, _), (start, last, _) in pairwise(changes):
        if end > start or first == end == start == last:  # they overlap, or both insert there
            return conflict[0]
    for start, end, lines in reversed(changes):
        base[start:end] = lines
    return "".join(base)
