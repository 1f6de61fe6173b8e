"""CPU time of asking releases what a package uses of them, by `fit`."""

from __future__ import annotations

import ast
import hashlib
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, write_modules
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.fit import fit
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.uses.packages import open_package

_ROOT, _OURS = "sample_upstream", "sample_package"
_MODULES = 60  # of a release
_NEW = 10  # of those, how many differ from all that came before
_RELEASES = 7  # so few that no other process takes a share
_COLD = "a fit, nothing kept"
_WARM = "a fit, all kept"
_PARSED = "each file that differs parsed once"
_READ = "all files read"
_USES = """
from sample_upstream.module_{number} import Holder{each}, function_{each}


class Ours{each}(Holder{each}):
    def total(self, scale=1):
        return super().total(scale) + function_{each}(self, self, default=Holder{each}.limit)
"""


def run(rounds: int = 10) -> Result:
    """Ask seven releases of sixty modules for 3,000 uses, of 1,200 names and more."""
    with folder() as home:
        sample = _Sample(home)
        sample.write()
        names = sample.fitted(home / "kept")
        cases = {
            _COLD: sample.cold,
            _WARM: lambda: cpu_of(lambda: sample.fitted(home / "kept")),
            _PARSED: lambda: cpu_of(sample.parse),
            _READ: lambda: cpu_of(sample.read),
        }
        samples = in_turns(cases, rounds)
    cold = samples.ratio(_COLD, _PARSED).median
    warm = samples.ratio(_WARM, _READ).median
    return Result(
        name="fit",
        title=f"{names:,} names of a package in {_RELEASES} releases: CPU time",
        unit="ms",
        rounds=rounds,
        against=[_PARSED, _READ],
        lines=lines_of(samples, [_PARSED, _READ], 1e3),
        aims=[
            Aim("a fit with nothing kept, against parsing the files", cold, 75.0),
            Aim("a fit with all kept, against reading the files", warm, 25.0),
        ],
        notes=[
            "the files of the package, and those of the releases, which lie in wheels"
        ],
    )


@dataclass(frozen=True)
class _Sample:
    """A package, and releases of what it uses.

    Args:
        home: the folder for all of it.
    """

    home: Path

    def write(self) -> None:
        """Write the package, the wheels, and a page with their hashes, by which they are kept."""
        ours = self.home / _OURS
        ours.mkdir()
        (ours / "__init__.py").touch()
        for number in range(_MODULES):
            text = "".join(_USES.format(number=number, each=each) for each in range(10))
            (ours / f"module_{number}.py").write_text(text)
        write_modules(self.home, _ROOT, _MODULES)
        links = "".join(map(self._wheel, range(_RELEASES)))
        (self.home / "index.html").write_text(links)

    def _wheel(self, release: int) -> str:
        for number in range(release * _NEW, (release + 1) * _NEW):
            file = self.home / _ROOT / f"module_{number % _MODULES}.py"
            file.write_text(f"# as of release {release}\n{file.read_text()}")
        wheel = self.home / f"{_ROOT}-{release}.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted((self.home / _ROOT).glob("*.py")):
                archive.write(file, f"{_ROOT}/{file.name}")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        return f'<a href="{wheel.as_uri()}#sha256={digest}">{wheel.name}</a>\n'

    def fitted(self, place: Path) -> int:
        """Fit the package with a cache at a place, and count the names that it uses."""
        settings = PipSettings(find_links=(str(self.home),))
        with Library(settings, Cache(place)) as library:
            name, source = open_package(str(self.home / _OURS), library)
            subjects = on_index(_ROOT, library, brief=True)
            found = fit(name, source, [_ROOT], subjects, FactStore(library.cache))
        if len(found.fitting) != _RELEASES:
            raise RuntimeError(
                f"the package fits {len(found.fitting)} of {_RELEASES} releases"
            )
        return len({one.target for one in found.uses})

    def cold(self) -> float:
        """Fit it with a new cache, and return the CPU seconds."""
        with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
            return cpu_of(lambda: self.fitted(Path(name)))

    def parse(self) -> None:
        """Parse what `read` gives, files that are alike once."""
        for text in set(self.read()):
            ast.parse(text)

    def read(self) -> list[bytes]:
        """Read the files of the package and of the releases."""
        found = [file.read_bytes() for file in (self.home / _OURS).glob("*.py")]
        for wheel in self.home.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                found += map(archive.read, archive.namelist())
        return found
