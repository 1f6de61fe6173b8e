"""The folder in which scripts run: a copy of a release, laid out as an environment of Python's."""

import sys
from dataclasses import dataclass
from pathlib import Path

from patchkit.analysis.upstream.reading.files import ReleaseSource, compiled

MINORS = range(8, 16)
"""Pythons 3.N that an image may have."""
_METADATA = "Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n"


@dataclass(frozen=True)
class Workspace:
    """A folder of its own for scripts, which may write nowhere else.

    Args:
        folder: The folder.
        package: The import package that the scripts edit.
        project: The name of its distribution.
        version: The version of its release.
    """

    folder: Path
    package: str
    project: str
    version: str

    @property
    def prefix(self) -> Path:
        """What `sys.prefix` is for scripts: the folder of the environment."""
        return self.folder / "environment"

    @property
    def site(self) -> Path:
        """The site-packages of the environment, which has the copy of the release."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.prefix / "lib" / version / "site-packages"

    @property
    def root(self) -> Path:
        """What stands for `/` of an image: the files that a Dockerfile copies into it."""
        return self.folder / "root"

    @property
    def home(self) -> Path:
        """The home folder of scripts."""
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        """The folder that stands for `/tmp`."""
        return self.folder / "tmp"

    @property
    def tools(self) -> Path:
        """The folder of the programs that stand for others, and of what they write."""
        return self.folder / "tools"

    def make(self) -> None:
        """Make the folders; there is no copy in them yet."""
        for folder in (self.site, self.root, self.home, self.temporary, self.tools):
            folder.mkdir(parents=True)
        # A script may name the folder of its image's Python, such as `lib/python3.12`, whichever
        # Python runs here. So each such name is a link to the one folder.
        library = self.site.parent
        for minor in MINORS:
            other = library.with_name(f"python3.{minor}")
            if not other.exists():
                other.symlink_to(library.name)

    def unpack(self, source: ReleaseSource) -> None:
        """Write the copy: the Python files of a release, and empty ones for extension modules.

        Args:
            source: The files of the release.

        Raises:
            UpstreamError: A file of the release cannot be read.
        """
        paths = sorted(source.paths())
        source.prefetch(path for path in paths if not compiled(path))
        for path in paths:
            content = source.read(path)
            file = self.site / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content or b"")
        # For scripts that ask pip or `importlib.metadata` for the version, or for the files.
        information = self.site / f"{self.project}-{self.version}.dist-info"
        information.mkdir()
        metadata = _METADATA.format(project=self.project, version=self.version)
        (information / "METADATA").write_text(metadata, "utf-8")
        (information / "INSTALLER").write_text("pip\n", "utf-8")
        record = "".join(f"{path},,\n" for path in paths)
        (information / "RECORD").write_text(record, "utf-8")
