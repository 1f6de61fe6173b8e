"""A cheap virtual environment over another one: its own site-packages first, the other's behind."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

SCRIPTS = ("patchkit", "ray", "vllm")


def make(directory: Path, *, pip: bool = False) -> Path:
    """Make one over the environment of this Python; return its Python."""
    command = [
        sys.executable,
        "-m",
        "venv",
        *([] if pip else ["--without-pip"]),
        str(directory),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    python = directory / "bin" / "python"
    version = "python{}.{}".format(*sys.version_info)
    below = sysconfig.get_path("purelib")
    line = f"import site; site.addsitedir({below!r})\n"
    (directory / "lib" / version / "site-packages" / "below.pth").write_text(line)
    for name in SCRIPTS:
        copy_script(name, python)
    return python


def copy_script(name: str, python: Path) -> None:
    """Take over a console script, for the environment's own Python."""
    below = sysconfig.get_path("scripts")
    _, _, code = Path(below, name).read_text().partition("\n")
    script = python.with_name(name)
    script.write_text(f"#!{python}\n{code}")
    script.chmod(0o755)
