"""action.yml, run: bash, pip and patchkit are real, and so is each of its steps.

What is simulated: GitHub's runner (`workflow_runner`) and the three actions of GitHub. Upstream is
wheels of `up` that the test writes.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import write_wheels
from support.packages import REPOSITORY, row
from workflow_machine import Machine
from workflow_runner import Job, Runner, WorkflowError, path_with

from ci.pages import ACTION, ACTION_TEXT
from patchkit import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.integration
PYPROJECT = '[tool.patchkit]\npacks = ["my_pack"]\nreleases = ["up"]\n'
HOSTILE = "$(touch ran)`touch ran`'\";touch ran;"


def pack(target: str = "up.mod:f") -> str:
    """Source of a pack with one row, at line 3."""
    texts = {
        "why": "'w'",
        "upstream": "'none: w'",
        "sunset": "'s'",
        "requires": "('up<9',)",
    }
    change = f"Wrap({target!r}, by='around')"
    written = row("my-patch", "patch_mod", change, **texts)
    return f"from patchkit import Patch, Role, Wrap\nPATCHES = (\n    {written},\n)\n"


@dataclass
class Repository:
    """A user's repository, and what GitHub does with it.

    Args:
        home: an empty folder.
        machine: what its jobs run on.
        action: the folder of action.yml.
    """

    home: Path
    machine: Machine
    action: Path = REPOSITORY

    def __post_init__(self) -> None:
        self.uploads: dict[str, str] = {}
        self.setups: list[str] = []
        self.environ = {"PATH": path_with(self.machine.bin, os.environ)}
        self.files = {
            "pyproject.toml": PYPROJECT,
            "my_pack/__init__.py": pack(),
            "my_pack/patch_mod.py": "def around(wrapped, instance, args, kwargs): pass\n",
            "json.py": "raise SystemExit('not the one of Python')\n",
        }
        (self.home / "jobs").mkdir(parents=True)

    def run(self, folder: str = ".", /, **settings: Any) -> Job:
        """Run a job whose only step beside the checkout is the action; `_` in a name is `-`."""
        inputs = {"pack": "", "version": __version__}
        inputs |= {name.replace("_", "-"): value for name, value in settings.items()}
        inputs["working-directory"] = folder
        outputs = {
            name: f"${{{{ steps.it.outputs.{name} }}}}" for name in ACTION["outputs"]
        }
        used = {"id": "it", "uses": "OWNER/patchkit@v1", "with": inputs}
        job = {"steps": [{"uses": "actions/checkout@v7"}, used], "outputs": outputs}
        actions = {
            "actions/checkout": lambda workspace, *_: self._check_out(
                workspace / folder
            ),
            "actions/setup-python": self._set_up,
            "actions/upload-artifact": self._upload,
            "OWNER/patchkit": self.action,
        }
        environ = {**self.machine.environ, **self.environ}
        workflow = {"jobs": {"a": job}}
        runner = Runner(workflow, self.home / "jobs", actions, environ)
        return runner.run("a")

    def _check_out(self, folder: Path) -> None:
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def _set_up(
        self, _: Path, environ: dict[str, str], inputs: Mapping[str, str]
    ) -> None:
        self.setups.append(inputs["python-version"])

    def _upload(
        self, _: Path, environ: dict[str, str], inputs: Mapping[str, str]
    ) -> None:
        self.uploads[inputs["name"]] = Path(inputs["path"]).read_text()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine whose index has two releases of `up` as well, and a broken one of `down`."""
    home = tmp_path_factory.mktemp("machine")
    machine = Machine.make(home)
    write_wheels(
        home / "dist",
        {"1.0": {"mod": "def f(): 0\ndef h(): 0\n"}, "2.0": {"mod": "def g(): 0\n"}},
    )
    (home / "dist" / "down-1.0-py3-none-any.whl").write_text("no wheel")
    machine.called("pip", "install", "--quiet", "vllm-patchkit", cwd=home)
    machine.environ["PIP_NO_INDEX"] = "1"  # nothing else is needed from here on
    return machine


@pytest.fixture
def repository(tmp_path: Path, machine: Machine) -> Repository:
    """A user's repository whose pack holds in `up` 1.0, and not in 2.0."""
    return Repository(tmp_path, machine)


def test_a_pack_that_holds_is_green(repository: Repository) -> None:
    """The job is green, with a summary, a page, and outputs; nothing is annotated."""
    done = repository.run(releases="up<2")
    assert done.failed == "", done.log
    assert not re.search("^::", done.log, re.MULTILINE)
    assert done.summary.startswith("### patchkit check: ")
    assert list(repository.uploads) == ["patchkit-check"]
    assert "<html" in repository.uploads["patchkit-check"]
    assert done.outputs["status"] == "0"
    assert done.outputs["errors"] == "0"
    assert done.outputs["warnings"] == "0"
    assert Path(done.outputs["markdown"]).read_text() == done.summary
    assert repository.setups == [ACTION["inputs"]["python"]["default"]]


def test_a_pack_with_a_finding_fails_the_job(repository: Repository) -> None:
    """The row is annotated by its place in the repository; the job fails after the upload."""
    done = repository.run("packs/one")
    assert done.failed == "verdict", done.log
    assert "::error file=packs/one/my_pack/__init__.py,line=3,title=PK101" in done.log
    assert "PK101" in done.summary
    assert "PK101" in repository.uploads["patchkit-check"]


def test_findings_that_fail_nothing(repository: Repository) -> None:
    """The job is green, and its outputs say what was found; nothing is uploaded unasked."""
    done = repository.run(fail_on_findings=False, artifact="", python="")
    assert done.failed == "", done.log
    assert done.outputs["status"] == "1"
    assert done.outputs["errors"] == "1"
    assert repository.uploads == {}
    assert repository.setups == []


@pytest.mark.parametrize("source", ["PATCHES = (1,)\n", "import no_such_module\n"])
def test_a_pack_that_cannot_be_read_is_no_answer(
    repository: Repository, source: str
) -> None:
    """It fails the job, even if findings would not."""
    repository.files["my_pack/__init__.py"] = source
    done = repository.run(fail_on_findings=False)
    assert done.failed == "check"
    assert "::error title=patchkit::no answer" in done.log
    assert done.summary == ""
    assert repository.uploads == {}
    assert done.outputs == {}


def test_a_release_that_cannot_be_read_is_no_answer(repository: Repository) -> None:
    """It fails the job, whatever else was found and even if findings would not."""
    done = repository.run(releases="up<2\ndown", fail_on_findings=False)
    assert done.failed == "check", done.log
    error = "::error title=patchkit::no answer: releases that cannot be read: 1"
    assert error in done.log


def test_a_job_that_names_no_pack_fails(repository: Repository) -> None:
    """A green job that has looked at none of the user's patches would be a false assurance."""
    repository.files["pyproject.toml"] = PYPROJECT.replace('packs = ["my_pack"]\n', "")
    repository.environ["PATCHKIT_VERSIONS"] = "vllm=0.32.0"
    repository.files["tree/vllm/__init__.py"] = ""
    done = repository.run(path="tree", fail_on_findings=False)
    assert done.failed == "check", done.log
    error = "found no pack but patchkit's own, expected packs in"
    assert f"::error title=patchkit::{error}" in done.log
    assert done.summary == ""
    assert repository.uploads == {}


def test_a_repository_without_settings_has_one_error(repository: Repository) -> None:
    """The error is the missing pack, not that there is nothing to check it against."""
    repository.files["pyproject.toml"] = "[project]\nname = 'mine'\nversion = '1'\n"
    done = repository.run()
    assert done.failed == "check", done.log
    errors = re.findall("^::error title=patchkit::(.*)", done.log, re.MULTILINE)
    assert len(errors) == 1
    assert errors[0].startswith("found no pack but patchkit's own, expected packs in")


def test_a_requirements_file_beside_the_pack_is_installed(
    repository: Repository,
) -> None:
    """A line of `pack` may name it; what the action wrote itself is gone afterwards."""
    repository.files["dev.txt"] = "vllm-patchkit\n"
    done = repository.run("packs", pack="-r dev.txt", releases="up<2")
    assert done.failed == "", done.log
    assert not list(repository.home.rglob(".requirements-*"))


def test_packs_and_releases_that_are_named_are_checked(repository: Repository) -> None:
    """Both inputs take several, with blanks around them, in place of those in pyproject.toml."""
    repository.files["other/__init__.py"] = pack("up.mod:h").replace(
        "my-patch", "other"
    )
    repository.files["other/patch_mod.py"] = repository.files["my_pack/patch_mod.py"]
    done = repository.run(patches="my_pack, other\n", releases="\n up==1.0 \n up<2\n")
    assert done.failed == "", done.log
    assert "2 patches, 2 releases" in done.summary


def test_a_source_tree_is_checked(repository: Repository) -> None:
    """A tree is checked in place of releases, as the version that the job's environment says."""
    repository.environ["PATCHKIT_VERSIONS"] = "up=1.0"
    repository.files |= {"tree/up/__init__.py": "", "tree/up/mod.py": "def f(): 0\n"}
    done = repository.run(path="tree")
    assert done.failed == "", done.log


@pytest.mark.parametrize(
    ("given", "failed"),
    [
        ({"pack": HOSTILE}, "install"),
        ({"version": HOSTILE}, "install"),
        ({"version": "0.0.0"}, "install"),
        ({"patches": HOSTILE}, "check"),
        ({"releases": HOSTILE}, "check"),
        ({"path": HOSTILE}, "check"),
        ({"path": "--help"}, "check"),
        ({"fail_on_findings": HOSTILE}, "verdict"),
        ({"fail_on_findings": "yes"}, "verdict"),
    ],
)
def test_inputs_are_never_run(
    repository: Repository, given: dict[str, str], failed: str
) -> None:
    """What an input holds is a value; one that is wrong fails the step that takes it."""
    done = repository.run(**given)
    assert done.failed == failed, done.log
    assert not list(repository.home.rglob("ran"))


def test_an_input_that_is_not_there_is_refused(repository: Repository) -> None:
    """The runner refuses what GitHub would only warn of."""
    with pytest.raises(WorkflowError, match="has no input"):
        repository.run(release="up")


def test_a_wrong_name_of_an_output_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    """The runner refuses an output that no step has written."""
    repository.action = tmp_path / "action"
    repository.action.mkdir()
    wrong = ACTION_TEXT.replace('echo "status=', 'echo "state=')
    (repository.action / "action.yml").write_text(wrong)
    with pytest.raises(WorkflowError, match=r"steps\.check\.outputs\.status"):
        repository.run()
