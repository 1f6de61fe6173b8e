"""What is released: the same bytes twice, and a wheel that works on each Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import zipfile
from typing import TYPE_CHECKING

import archives
import environments
import pytest
import toolbox
from support.packages import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# What needs neither vLLM nor the repository around it, and starts no process.
TESTED = ("core", "test_registry.py", "test_settings.py", "test_errors.py")
LEFT_OUT = (
    ".git",
    ".envs",
    ".matrix",
    "dist",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)
NO_BYTECODE = shutil.ignore_patterns("__pycache__")  # others may write some meanwhile


def copied(folder: Path, umask: int) -> Path:
    """Copy the repository as somebody with a umask checks it out, with other times of files."""
    copy = folder / f"as-{umask:03o}"
    shutil.copytree(
        REPOSITORY, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True
    )
    for place in (copy, *copy.rglob("*")):
        os.utime(place, (umask, umask), follow_symlinks=False)
        if not place.is_symlink():
            place.chmod(place.stat().st_mode & ~umask)
    return copy


def built(folder: Path, umask: int) -> dict[str, str]:
    """Build both archives of a copy of the repository, and return their hashes by name."""
    copy = copied(folder, umask)
    before = os.umask(umask)
    try:
        return archives.build(copy, copy / "dist")
    finally:
        os.umask(before)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, as the index gets it."""
    folder = tmp_path_factory.mktemp("release")
    built(folder, 0o022)
    (archive,) = (folder / "as-022" / "dist").glob("*.whl")
    return archive


def test_what_is_built_twice_is_the_same_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder, umask and time zone, other times, a date to be put in: no difference."""
    first = built(tmp_path, 0o022)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    second = built(tmp_path, 0o077)
    assert sorted(name.rpartition(".")[2] for name in first) == ["gz", "whl"]
    assert first == second


def test_a_source_distribution_builds_itself(tmp_path: Path) -> None:
    """Who builds from what the index has, as distributors do, gets the same archives."""
    first = built(tmp_path, 0o022)
    (archive,) = (tmp_path / "as-022" / "dist").glob("*.tar.gz")
    subprocess.run(["tar", "-xf", archive, "-C", tmp_path], check=True, timeout=60)
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    assert archives.build(source, tmp_path / "again") == first


def test_a_release_has_the_files_of_the_commit(tmp_path: Path) -> None:
    """Nothing that lies in the work tree besides comes along, and nothing is left out."""
    archives.build_commit(tmp_path / "dist")
    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert names == {"PKG-INFO", *listed.stdout.rstrip("\0").split("\0")}


def test_the_index_gets_the_text_of_readme_without_pictures(wheel: Path) -> None:
    """An index has no files of pictures; the rest of the page is in the wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (name,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode()
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    assert "![" in readme
    assert "![" not in text
    assert readme.split("\n\n")[-2] in text


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works_on_each_python(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    """Installed with nothing around it, its commands run, and so do tests that are copied out."""
    python = tmp_path / "python" / "bin" / "python"
    index = toolbox.index_options()
    # uv fetches what is nowhere.
    request = environments.pyenv_python(version) or version
    create = toolbox.uv("venv", "--quiet", "--python", request, str(python.parents[1]))
    subprocess.run(create, check=True, timeout=300)
    bare = toolbox.uv(
        "pip", "install", "--quiet", "--python", str(python), *index, str(wheel)
    )
    subprocess.run(bare, check=True, timeout=300)
    output = run(python.with_name("patchkit"), "list", "--all", cwd=tmp_path)
    assert "ray-worker-torch-npu" in output
    run(python, "-c", "import patchkit.auto", cwd=tmp_path)
    more = ["pytest", "hypothesis", "pyyaml", "pydantic", "wrapt"]
    subprocess.run([*bare[:-1], *more], check=True, timeout=300)
    tests = tmp_path / "tests" / "unit"
    shutil.copytree(REPOSITORY / "tests" / "unit", tests, ignore=NO_BYTECODE)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    chosen = [str(tests / name) for name in TESTED]
    words = ("-m", "pytest", "-q", "-m", "not processes and not integration", *chosen)
    output = run(python, *words, cwd=tmp_path)
    assert " passed" in output
    assert "failed" not in output


def run(*words: str | Path, cwd: Path) -> str:
    """Run a command where no checkout is; it succeeds."""
    environ = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        words,
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
