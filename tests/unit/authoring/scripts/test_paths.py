"""Paths that a script names: those of a release lead into the copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchkit.authoring.scripts.paths import PathRules
from patchkit.authoring.scripts.workspace import Workspace

WORKSPACE = Workspace(Path("/w"), "up", "up", "1.0")
SITE = str(WORKSPACE.site)


@pytest.mark.parametrize(
    "path",
    [
        "/usr/local/lib/python3.12/dist-packages",
        "/usr/lib/python3*/site-packages",
        "/opt/venv/lib/python3.[0-9]*/site-packages",
        "~/.local/lib/python3.10/site-packages",
        "$VIRTUAL_ENV/lib/python3.12/site-packages",
        "${VENV:-/opt/venv}/lib/python3.12/site-packages",
        ".venv/lib/python3.12/site-packages",
        "{sys.prefix}/lib/python{version}/site-packages",
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "sed -i s/a/b/ {}/up/lib.py",
        'cd "{}" && sed -i s/a/b/ up/lib.py',
        "patch -p1 -d {} < a.patch",
        "SITE={}",
        "open('{}/up/lib.py')",
        "f({}, 1)",
    ],
)
def test_a_folder_of_packages_is_the_copy(path: str, line: str) -> None:
    """Also with wildcards, variables and placeholders in its path."""
    text = line.replace("{}", path)
    expected = line.replace("{}", SITE)
    assert PathRules(WORKSPACE, {}).relocated(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sed -i s/a/b/ /workspace/up/up/lib.py", f"sed -i s/a/b/ {SITE}/up/lib.py"),
        ("cd /workspace/up && ls", f"cd {SITE} && ls"),
        ("patch -p1 -d /src/up <a", f"patch -p1 -d {SITE} <a"),
        ("patch -p1 -d/usr/lib/python3/dist-packages", f"patch -p1 -d{SITE}"),
        ("git -C '/src/up' apply a", f"git -C '{SITE}' apply a"),
        ("cd /usr/lib/python3/site-packages/up", f"cd {SITE}/up"),
        ("cat > /tmp/no-such-file.py", "cat > /w/tmp/no-such-file.py"),
        ("cd /tmp", "cd /w/tmp"),
        ("open('/var/tmp/no-such')", "open('/w/tmp/no-such')"),
    ],
)
def test_a_checkout_and_the_folder_for_temporary_files(
    text: str, expected: str
) -> None:
    """A checkout is the copy; `/tmp` is a folder beside it."""
    assert PathRules(WORKSPACE, {}).relocated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "pip install up",
        "https://github.com/org/up/up/lib.py",
        "s/site-packages/dist-packages/",
        "build/tmp/x",
        "/opt/my-site-packages-2/x",
        "cd /srv/upper",
        "/data/tmp",
    ],
)
def test_other_paths_stay(text: str) -> None:
    assert PathRules(WORKSPACE, {}).relocated(text) == text


def test_a_temporary_file_that_is_there_stays(tmp_path: Path) -> None:
    """A script may lie there with what it reads."""
    file = tmp_path / "a.patch"
    file.touch()
    if file.is_relative_to("/tmp"):
        assert PathRules(WORKSPACE, {}).relocated(f"< {file}") == f"< {file}"


def test_copied_files_are_where_they_were_copied_to() -> None:
    """The longer path counts where one lies in the other."""
    copied = {"/app": Path("/w/image/app"), "/app/fixes": Path("/w/site/fixes")}
    rules = PathRules(WORKSPACE, copied)
    text = "python /app/x.py /app/fixes/a /apple"
    assert rules.relocated(text) == "python /w/image/app/x.py /w/site/fixes/a /apple"
