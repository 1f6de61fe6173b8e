"""The bootstrap's files in a site-packages folder: their content, installing and removing.

Python runs the `import` lines of `.pth` files when it starts. From 3.15 on (PEP 829) it calls the
`package.module:function` lines of `.start` files, and ignores the import lines of the `.pth` with
the same name; from 3.18 on it ignores all import lines. Not tested yet, as no Python has PEP 829.
Both files are always written: an older Python ignores the `.start`.
"""

import ast
import os
import pkgutil
import re
import secrets
import site
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import PatchkitError

MARK = "Written by `patchkit bootstrap install`; `patchkit bootstrap remove` takes it away."
"""Stands in every file that `install` writes; a file without it is never touched."""

ABSENT, INSTALLED, FOREIGN = "absent", "installed", "foreign"
INCOMPLETE = "incomplete"  # a file is missing
OUTDATED = "outdated"  # a file has another text than this patchkit writes

_MODULE = "_patchkit_bootstrap"
_PTH, _START = "patchkit-bootstrap.pth", "patchkit-bootstrap.start"
# In the order of writing: the `.pth` last, as it brings the others to life.
_NAMES = (f"{_MODULE}.py", _START, _PTH)

# Said once: a venv's `.pth` files run twice.
_GUARDED = f"""\
try:
 import {_MODULE}
 {_MODULE}.start()
except Exception as e:
 import sys
 if '{_MODULE}' not in sys.modules and sys.stderr:
  sys.modules['{_MODULE}'] = None
  sys.stderr.write(f'patchkit: this process is not patched: {{type(e).__name__}}: {{e}}\\n')
"""
# One test of the environment, and nothing raises even where the module is gone.
_IMPORT_LINE = f'import os; os.environ.get("PATCHKIT", "").strip() == "1" and exec({_GUARDED!r})'
_RECORD = re.compile(r'^LOCATION: "str \| None" = (.*)$', re.MULTILINE)
_PROBE = (
    "import importlib.util; spec = importlib.util.find_spec('patchkit.auto'); "
    "print(ascii(spec.origin if spec else None))"
)


class BootstrapError(PatchkitError):
    """The bootstrap cannot be installed or removed here."""


@dataclass(frozen=True)
class Bootstrap:
    """How the bootstrap stands in one folder: all of it, each of its files."""

    state: str
    files: Mapping[Path, str]
    location: str | None  # where patchkit is looked for if Python does not find it by itself


def look(folder: Path) -> Bootstrap:
    """Return the state of the bootstrap in a folder."""
    held = {name: _read(folder / name) for name in _NAMES}
    location = _recorded(held[_NAMES[0]] or b"")
    files = {folder / name: _state(held[name], text) for name, text in _texts(location).items()}
    states = set(files.values())
    worst = {FOREIGN: FOREIGN, ABSENT: INCOMPLETE, OUTDATED: OUTDATED}
    state = next((worst[state] for state in worst if state in states), INSTALLED)
    return Bootstrap(ABSENT if states == {ABSENT} else state, files, location)


def install(folder: Path, location: str | None = None) -> bool:
    """Write all of the bootstrap, else BootstrapError; return whether that changed the folder."""
    here = look(folder)
    _refuse_foreign(here)
    if here.state == INSTALLED and here.location == location:
        return False
    texts = {folder / name: text for name, text in _texts(location).items()}
    try:
        _write_all(texts)
    except OSError as error:
        run = Path(__file__).absolute().parent / "run"
        raise BootstrapError(
            f"{folder}: cannot be written ({error.strerror}), so nothing was; without a bootstrap, "
            f"'patchkit run -- COMMAND' arms what it starts, and PYTHONPATH={run} what inherits it"
        ) from error
    return True


def remove(folder: Path) -> bool:
    """Remove what `install` wrote, and its bytecode; return whether there was anything."""
    here = look(folder)
    _refuse_foreign(here)
    ours = [file for file, state in here.files.items() if state != ABSENT]
    try:
        # The `.pth` first: without it the rest is dead.
        for file in (*reversed(ours), *(folder / "__pycache__").glob(f"{_MODULE}.*.pyc*")):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise BootstrapError(f"{error.filename}: cannot be removed: {error.strerror}") from error
    with suppress(OSError):  # others' files are in it, or it is not there
        (folder / "__pycache__").rmdir()
    return bool(ours)


def site_folder() -> Path:
    """Return the folder of this Python's packages; an error if it reads no `.pth` files there."""
    folder = sysconfig.get_path("purelib")
    read = [os.path.realpath(known) for known in site.getsitepackages()]
    if os.path.realpath(folder) not in read:
        expected = " or ".join(site.getsitepackages())
        raise BootstrapError(f"{folder}: Python reads no .pth files there, only in {expected}")
    return Path(folder)


def own_location() -> str:
    """Return the folder, or the zip file, from which this process imports patchkit."""
    return str(Path(__file__).absolute().parents[3])


def location_found_alone() -> str | None:
    """Ask a new process where this Python finds patchkit by itself: what `.pth` files do shows."""
    environ = {key: text for key, text in os.environ.items() if not key.startswith("PATCHKIT")}
    command = [sys.executable, "-I", "-c", _PROBE]
    try:
        done = subprocess.run(  # noqa: S603 - this very Python
            command, env=environ, capture_output=True, text=True, timeout=60, check=True
        )
        origin = ast.literal_eval(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, IndexError, SyntaxError, ValueError):
        return None
    return str(Path(origin).parents[1]) if origin else None


# -- what the files hold -----------------------------------------------------------------------


def _texts(location: str | None) -> dict[str, str]:
    """Return the text of each file; ASCII, so that a `.pth` is valid in any locale."""
    head = f"# {MARK}\n"
    source = (pkgutil.get_data("patchkit.runtime.bootstrap", "module.py") or b"").decode()
    module = _RECORD.sub(lambda _: f'LOCATION: "str | None" = {location!a}', source, count=1)
    lines = f"{head}{_MODULE}:start\n", f"{head}{_IMPORT_LINE}\n"
    return dict(zip(_NAMES, (head + module, *lines), strict=True))


def _recorded(module: bytes) -> str | None:
    match = _RECORD.search(module.decode(errors="replace"))
    with suppress(ValueError, SyntaxError):
        value = ast.literal_eval(match.group(1)) if match else None
        return value if isinstance(value, str) else None
    return None


def _read(file: Path) -> bytes | None:
    """Read a file; None where there is none, and empty where it cannot be read."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None if not file.is_symlink() else b""
    except OSError:
        return b""


def _state(held: bytes | None, text: str) -> str:
    if held is None:
        return ABSENT
    if MARK.encode() not in held:
        return FOREIGN
    return INSTALLED if held == text.encode() else OUTDATED


def _refuse_foreign(here: Bootstrap) -> None:
    foreign = [str(file) for file, state in here.files.items() if state == FOREIGN]
    if foreign:
        text = "not written by patchkit, or not readable; move it away first"
        raise BootstrapError(f"{', '.join(foreign)}: {text}")


# -- writing -----------------------------------------------------------------------------------


def _write_all(texts: Mapping[Path, str]) -> None:
    # Neither `site` nor an import takes such a file for one of ours.
    fresh = {file: file.with_name(f".{file.stem}-{secrets.token_hex(4)}.tmp") for file in texts}
    try:
        for file, text in texts.items():
            fresh[file].write_bytes(text.encode())
        for file in texts:
            fresh[file].replace(file)
    finally:
        for temporary in fresh.values():
            with suppress(OSError):
                temporary.unlink()
