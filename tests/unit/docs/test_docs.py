"""What README and docs show works as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.packages import REPOSITORY, world

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = ["world"]

README = (REPOSITORY / "README.md").read_text("utf-8")
PAGES = [REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
LINKED = [
    *PAGES,
    REPOSITORY / "lab" / "README.md",
    REPOSITORY / "studies" / "README.md",
]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s…]+)(?:#[^)]*)?\)")
SCHEDULER = "class Scheduler:\n    def schedule(self):\n        return 'scheduled'\n"
CALL = """
from patchkit import applied
from vllm.v1.core.sched.scheduler import Scheduler
with applied("log-slow-steps"):
    print(Scheduler().schedule(), hasattr(Scheduler.schedule, "__wrapped__"))
"""


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of a page that are in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """README's files, each where its first line says, and a vLLM that has what they patch."""
    for text in blocks(README, "python"):
        place = world.folder / text.partition("\n")[0].removeprefix("# ")
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    world.module("vllm.v1.core.sched.scheduler", SCHEDULER)
    (settings,) = blocks(README, "toml")
    (world.folder / "pyproject.toml").write_text(settings)
    monkeypatch.setenv("VLLM_VERSION", "0.32.0")
    return world


def patchkit(project: World, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of patchkit in the project, as if vLLM 0.32.0 were installed."""
    return project.run("-m", "patchkit", *words, VLLM_VERSION="0.32.0")


@pytest.mark.processes
def test_readmes_first_blocks_work_as_they_stand(project: World) -> None:
    """Put where their first lines say, they are a pack that is listed, holds, and is applied."""
    assert "log-slow-steps" in patchkit(project, "list").stdout
    checked = patchkit(project, "check", "--path", ".")
    assert checked.returncode == 0, checked.stdout
    assert "PK" not in checked.stdout
    done = project.run("-c", CALL, PATCHKIT_PATCHES="my_pack", VLLM_VERSION="0.32.0")
    assert done.stdout == "scheduled True\n", done.stderr


def test_an_extra_is_named_with_the_distribution_that_has_it() -> None:
    """Pages and messages say what pip can install: the distribution has another name."""
    settings = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    (extras,) = re.findall(
        r"^\[project\.optional-dependencies\]\n(.*?)\n\[", settings, re.M | re.S
    )
    names = re.findall(r"^(\w+) = ", extras, re.MULTILINE)
    assert "metrics" in names
    with_extra = re.compile(rf"([\w-]+)\[(?:{'|'.join(names)})\]")
    files = [*PAGES, *sorted((REPOSITORY / "patchkit").rglob("*.py"))]
    found = {name for file in files for name in with_extra.findall(file.read_text())}
    assert found == {"vllm-patchkit"}


def test_readme_links_nowhere_that_an_index_lacks() -> None:
    """Only pictures, which the index does not get, link to files of the repository."""
    assert LINK.findall(re.sub(r"(?m)^\[?!\[.*\n", "", README)) == []


@pytest.mark.parametrize(
    "page", LINKED, ids=[str(page.relative_to(REPOSITORY)) for page in LINKED]
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Each names a file that is there."""
    lost = [
        target
        for target in LINK.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not lost


def test_every_page_is_in_the_table_of_contents() -> None:
    """docs/README.md links to every page of the docs."""
    docs = REPOSITORY / "docs"
    named = LINK.findall((docs / "README.md").read_text("utf-8"))
    pages = {str(page.relative_to(docs)) for page in PAGES[1:]} - {"README.md"}
    assert pages <= set(named)


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """The navigation names each page once, and no page that is not there."""
    settings = yaml.load(
        (REPOSITORY / "mkdocs.yml").read_text("utf-8"), yaml.BaseLoader
    )
    docs = REPOSITORY / "docs"
    named = [
        page for page in leaves(settings["nav"]) if not page.startswith("repository/")
    ]
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"README.md"}
    assert sorted(named) == sorted(pages)


def leaves(tree: Any) -> list[str]:
    """Every text at the end of a branch."""
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree
    return [leaf for part in parts for leaf in leaves(part)]


@pytest.mark.processes
def test_the_resolver_is_used_as_the_page_shows(tmp_path: Path) -> None:
    """docs/resolution.md's lines run, beside a checkout of vLLM."""
    (code,) = blocks(
        (REPOSITORY / "docs" / "resolution.md").read_text("utf-8"), "python"
    )
    (tmp_path / "here").mkdir()
    package = tmp_path / "vllm" / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("class LLM:\n    def generate(self): 0\n")
    words = [sys.executable, "-c", f"{code}print(found.state)"]
    environ = {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        words,
        cwd=tmp_path / "here",
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "present\n", done.stderr


@pytest.mark.processes
def test_runtime_env_is_there_without_an_import_of_its_own(world: World) -> None:
    """After `import patchkit`, `patchkit.ray.runtime_env()` works, as the pages write it."""
    done = world.run("-c", "import patchkit; print(sorted(patchkit.ray.runtime_env()))")
    assert "env_vars" in done.stdout, done.stderr


def test_the_page_of_findings_is_what_explain_prints() -> None:
    """The page is a link to the file that `explain` prints, so that they cannot differ."""
    page = REPOSITORY / "docs" / "findings.md"
    assert page.resolve() == REPOSITORY / "patchkit/analysis/check/findings.md"
