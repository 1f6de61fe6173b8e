"""Installs and removes the bootstrap: its files in a site-packages folder.

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

ABSENT = "absent"
INSTALLED = "installed"
FOREIGN = "foreign"  # a file is not patchkit's, or cannot be read
INCOMPLETE = "incomplete"  # a file is missing
OUTDATED = "outdated"  # a file has another text than this patchkit writes

_MODULE = "_patchkit_bootstrap"
_PTH = "patchkit-bootstrap.pth"
_START = "patchkit-bootstrap.start"
# In the order of writing: the `.pth` last, as Python runs it as soon as it is there.
_NAMES = (f"{_MODULE}.py", _START, _PTH)

# What the `.pth` runs. A venv's `.pth` files run twice; because of the entry in `sys.modules`, the
# message is written once.
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
# Without PATCHKIT=1 this line only reads a variable. It raises nothing, even without the module.
_IMPORT_LINE = (
    f'import os; os.environ.get("PATCHKIT", "").strip() == "1" and exec({_GUARDED!r})'
)
# The line of the module that `install` fills in.
_RECORD = re.compile(r'^LOCATION: "str \| None" = (.*)$', re.MULTILINE)
_PROBE = (
    "import importlib.util; spec = importlib.util.find_spec('patchkit.auto'); "
    "print(ascii(spec.origin if spec else None))"
)


class BootstrapError(PatchkitError):
    """The bootstrap cannot be installed or removed here."""


@dataclass(frozen=True)
class Bootstrap:
    """The state of the bootstrap in one folder.

    Args:
        state: The state of all files together, one of the constants above.
        files: The state of each file.
        location: The folder that is added to `sys.path` if Python does not find patchkit by itself.
    """

    state: str
    files: Mapping[Path, str]
    location: str | None


def look(folder: Path) -> Bootstrap:
    """Return the state of the bootstrap in a folder.

    Args:
        folder: A site-packages folder.
    """
    contents = {name: _read(folder / name) for name in _NAMES}
    # Each file is compared with what `install` would write for the location that the module has
    # recorded; an absent module (None) has recorded none.
    location = _recorded(contents[f"{_MODULE}.py"] or b"")
    files = {}
    for name, text in _texts(location).items():
        files[folder / name] = _file_state(contents[name], text)
    return Bootstrap(_state_of_all(set(files.values())), files, location)


def install(folder: Path, location: str | None = None) -> bool:
    """Write all files of the bootstrap, unless they are there.

    Args:
        folder: A site-packages folder.
        location: The folder that is added to `sys.path` if Python does not find patchkit by itself.

    Returns:
        Whether any file was written.

    Raises:
        BootstrapError: The folder cannot be written, or a file is not patchkit's.
    """
    present = look(folder)
    _refuse_foreign(present)
    if present.state == INSTALLED and present.location == location:
        return False
    texts = {folder / name: text for name, text in _texts(location).items()}
    try:
        _write_all(texts)
    except OSError as error:
        # The folder with the `sitecustomize` that arms without a bootstrap.
        run_folder = Path(__file__).absolute().parent / "run"
        raise BootstrapError(
            f"{folder}: cannot be written ({error.strerror}), so nothing was; without a bootstrap, "
            "'patchkit run -- COMMAND' arms what it starts, and "
            f"PYTHONPATH={run_folder} what inherits it"
        ) from error
    return True


def remove(folder: Path) -> bool:
    """Remove what `install` wrote, and its bytecode.

    Args:
        folder: A site-packages folder.

    Returns:
        Whether there was anything to remove.

    Raises:
        BootstrapError: A file cannot be removed, or is not patchkit's.
    """
    present = look(folder)
    _refuse_foreign(present)
    files = [file for file, state in present.files.items() if state != ABSENT]
    bytecode = folder / "__pycache__"
    try:
        # The `.pth` first, as nothing runs the others without it. `.pyc*` also finds the drafts
        # (`….pyc.123`) that a Python left behind when it was killed as it wrote bytecode.
        for file in (*reversed(files), *bytecode.glob(f"{_MODULE}.*.pyc*")):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise BootstrapError(
            f"{error.filename}: cannot be removed: {error.strerror}"
        ) from error
    with suppress(OSError):  # it has files of other modules, or does not exist
        bytecode.rmdir()
    return bool(files)


def site_folder() -> Path:
    """Return the folder of this Python's packages, where the bootstrap is installed.

    Raises:
        BootstrapError: Python reads no `.pth` files there.
    """
    folder = sysconfig.get_path("purelib")
    folders_read = [os.path.realpath(read) for read in site.getsitepackages()]
    if os.path.realpath(folder) not in folders_read:
        expected = " or ".join(site.getsitepackages())
        raise BootstrapError(
            f"{folder}: Python reads no .pth files there, only in {expected}"
        )
    return Path(folder)


def own_location() -> str:
    """Return the folder, or the zip file, from which this process imports patchkit."""
    # This file is `patchkit/runtime/bootstrap/install.py` in it.
    return str(Path(__file__).absolute().parents[3])


def location_found_alone() -> str | None:
    """Ask a new, isolated process of this Python where it finds patchkit.

    A new process also shows what `.pth` files add to the path, as for an editable install.

    Returns:
        The folder or zip file that patchkit lies in; None if it is not found.
    """
    # Without patchkit's variables, so that a bootstrap arms nothing there.
    environ = {
        key: text for key, text in os.environ.items() if not key.startswith("PATCHKIT")
    }
    command = [sys.executable, "-I", "-c", _PROBE]
    try:
        done = subprocess.run(  # noqa: S603 - this very Python
            command, env=environ, capture_output=True, text=True, timeout=60, check=True
        )
        # The last line: other `.pth` files may print something before.
        origin = ast.literal_eval(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, IndexError, SyntaxError, ValueError):
        return None
    if not origin:
        return None
    return str(Path(origin).parents[1])  # the origin is `patchkit/auto.py` in it


# -- the files' content ------------------------------------------------------------------------


def _texts(location: str | None) -> dict[str, str]:
    """Return the text of each file; ASCII, so that a `.pth` is valid in any locale."""
    # (`get_data` returns None only for loaders that cannot read files.)
    template = (
        pkgutil.get_data("patchkit.runtime.bootstrap", "module.py") or b""
    ).decode()
    record = f'LOCATION: "str | None" = {location!a}'
    # A function returns `record`, as `re` would interpret the backslashes of a plain replacement.
    module = _RECORD.sub(lambda _: record, template, count=1)
    head = f"# {MARK}\n"
    return {
        f"{_MODULE}.py": head + module,
        _START: f"{head}{_MODULE}:start\n",
        _PTH: f"{head}{_IMPORT_LINE}\n",
    }


def _recorded(module: bytes) -> str | None:
    """Return the location that an installed module has as `LOCATION`; None if it has none."""
    match = _RECORD.search(module.decode(errors="replace"))
    if match is None:
        return None
    with suppress(ValueError, SyntaxError):
        location = ast.literal_eval(match.group(1))
        if isinstance(location, str):
            return location
    return None


def _read(file: Path) -> bytes | None:
    """Read a file; None if it does not exist.

    If it cannot be read or is a broken link, b"": without `MARK`, which makes its state FOREIGN.
    """
    try:
        return file.read_bytes()
    except FileNotFoundError:
        if file.is_symlink():
            return b""
        return None
    except OSError:
        return b""


def _file_state(content: bytes | None, text: str) -> str:
    """Return the state of one file: compare its content with the text that it should have."""
    if content is None:
        return ABSENT
    if MARK.encode() not in content:
        return FOREIGN
    if content == text.encode():
        return INSTALLED
    return OUTDATED


def _state_of_all(states: set[str]) -> str:
    """Return the state of the bootstrap, given the states that occur among its files."""
    if states == {ABSENT}:
        return ABSENT
    if FOREIGN in states:
        return FOREIGN
    if ABSENT in states:
        return INCOMPLETE
    if OUTDATED in states:
        return OUTDATED
    return INSTALLED


def _refuse_foreign(bootstrap: Bootstrap) -> None:
    """Refuse to touch files that `install` has not written."""
    foreign = [str(file) for file, state in bootstrap.files.items() if state == FOREIGN]
    if foreign:
        text = "not written by patchkit, or not readable; move it away first"
        raise BootstrapError(f"{', '.join(foreign)}: {text}")


# -- writing -----------------------------------------------------------------------------------


def _write_all(texts: Mapping[Path, str]) -> None:
    """Write drafts of all files, then rename them; so if one cannot be written, none is."""
    # Python ignores files with such names: `site` reads `.pth` and `.start` only.
    drafts = {
        file: file.with_name(f".{file.stem}-{secrets.token_hex(4)}.tmp")
        for file in texts
    }
    try:
        for file, text in texts.items():
            drafts[file].write_bytes(text.encode())
        for file, draft in drafts.items():
            draft.replace(file)
    finally:
        for draft in drafts.values():
            with suppress(OSError):  # it was renamed
                draft.unlink()
