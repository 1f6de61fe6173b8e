""".pre-commit-hooks.yaml with the real pre-commit, git and pip, configured as docs/ci.md shows.

A commit of the user's is a `git commit`; the hooks' repository is a clone of what is packaged here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from analysis.check.released import write_wheels
from support.packages import REPOSITORY, row
from workflow_machine import commit, git, plain_environ

from ci.pages import CI_PAGE

pytestmark = pytest.mark.integration
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")
PACKAGED = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
UPSTREAM = {"1.0": {"mod": "def f(): 0\ndef g(): 0\n"}}


def pack(target: str) -> str:
    """Source of a pack with one row."""
    texts = {
        "why": "'w'",
        "upstream": "'none: w'",
        "sunset": "'s'",
        "requires": "('up<9',)",
    }
    written = row("my-patch", "patch_mod", f"Wrap({target!r}, by='around')", **texts)
    return f"from patchkit import Patch, Role, Wrap\nPATCHES = ({written},)\n"


@dataclass
class Repository:
    """A user's repository with hooks.

    Args:
        folder: where it is.
        environ: of what is run there.
    """

    folder: Path
    environ: dict[str, str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command there; it may fail."""
        return subprocess.run(
            words,
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    def commit(self, name: str, text: str) -> dict[str, str]:
        """Change a file and commit it; return the state of each hook, and the output as ''."""
        (self.folder / name).write_text(text)
        git(self.folder, "add", "--all")
        who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        done = self.run("git", *who, "commit", "--message", "a change")
        lines = re.findall(r"^(.+?)\.{3,}(?:\(.*\))?(\w+)$", done.stdout, re.MULTILINE)
        states = dict(lines)
        has_failed = any(state == "Failed" for _, state in lines)
        assert done.returncode == has_failed, done.stdout
        return {**states, "": done.stdout}


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository of the hooks: what a release of patchkit consists of, under its tag."""
    folder = tmp_path_factory.mktemp("hooks")
    for name in PACKAGED:
        shutil.copy(REPOSITORY / name, folder)
    without = shutil.ignore_patterns("__pycache__")  # others may write some meanwhile
    shutil.copytree(REPOSITORY / "patchkit", folder / "patchkit", ignore=without)
    git(folder, "init", "--quiet")
    commit(folder)
    git(folder, "tag", *re.findall(r"rev: (\S+)", CI_PAGE))
    return folder


@pytest.fixture(scope="module")
def repository(hooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with the page's configuration, whose pack holds and is reviewed."""
    home = tmp_path_factory.mktemp("user")
    (configured,) = re.findall(
        r"^```yaml\n(repos:\n.*?)^```", CI_PAGE, re.MULTILINE | re.DOTALL
    )
    configured = configured.replace("https://github.com/OWNER/patchkit", str(hooks))
    write_wheels(home / "index", UPSTREAM)
    environ = {**plain_environ(), "PRE_COMMIT_HOME": str(home / "kept")}
    made = Repository(home / "repository", environ)
    (made.folder / "my_pack").mkdir(parents=True)
    for name, text in {
        ".pre-commit-config.yaml": configured,
        ".gitignore": "__pycache__/\n",  # a hook that changes a committed file fails
        "pyproject.toml": '[tool.patchkit]\npacks = ["my_pack"]\nreleases = ["up"]\n',
        "my_pack/__init__.py": pack("up.mod:f"),
        "my_pack/patch_mod.py": "def around(wrapped, instance, args, kwargs): pass\n",
    }.items():
        (made.folder / name).write_text(text)
    git(made.folder, "init", "--quiet")
    done = made.run(str(PRE_COMMIT), "install", "--install-hooks")
    assert done.returncode == 0, done.stdout
    made.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(home / "index")}
    done = made.run(sys.executable, "-m", "patchkit", "lock")
    assert done.returncode == 0, done.stdout
    return made


def test_hooks_let_only_good_commits_through(repository: Repository) -> None:
    """What holds and is reviewed is committed; all else is refused by the hook that says so."""
    passed = {"patchkit check": "Passed", "patchkit lock --check": "Passed"}
    assert passed.items() <= repository.commit("my_pack/more.py", "").items()
    skipped = dict.fromkeys(passed, "Skipped")
    assert skipped.items() <= repository.commit("README.md", "a pack").items()
    done = repository.commit("my_pack/__init__.py", pack("up.mod:gone"))
    assert done["patchkit check"] == "Failed"
    assert "PK101" in done[""]
    done = repository.commit("my_pack/__init__.py", pack("up.mod:g"))
    assert done["patchkit lock --check"] == "Failed"
    assert "up.mod:g" in done[""]
    again = pack("up.mod:f") + "# as it was\n"
    assert passed.items() <= repository.commit("my_pack/__init__.py", again).items()
