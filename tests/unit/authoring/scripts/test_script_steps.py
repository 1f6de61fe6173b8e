"""Scripts as steps: which program runs them, with what beside them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from authoring.scripts.workplaces import workspace_in
from patchkit.authoring.scripts.script_steps import plan_scripts
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.authoring.scripts.plan import Step


def step_of(folder: Path, name: str, text: str, arguments: str = "") -> Step:
    """The step that a script is."""
    (folder / name).write_text(text)
    plan = plan_scripts([f"{folder / name}{arguments}"], workspace_in(folder))
    (step,) = plan.steps
    return step


@pytest.mark.parametrize(
    ("name", "text", "begins"),
    [
        ("fix.sh", "sed x y\n", ["sh", "-c"]),
        ("fix.bash", "sed x y\n", ["bash", "-c"]),
        ("fix", "#!/usr/bin/env bash\nsed x y\n", ["bash", "-c"]),
        ("fix.sh", "#!/bin/bash -eu\nsed x y\n", ["bash", "-eu", "-c"]),
        ("fix.py", "print()\n", [sys.executable]),
        ("fix", "#!/usr/bin/env python3\nprint()\n", [sys.executable]),
    ],
)
def test_the_first_line_or_the_name_says_what_runs_it(
    tmp_path: Path, name: str, text: str, begins: list[str]
) -> None:
    """The first line comes first; its working directory is the copy."""
    step = step_of(tmp_path, name, text)
    assert list(step.command)[: len(begins)] == begins
    assert step.folder.name == "site-packages"


def test_its_paths_lead_into_the_copy(tmp_path: Path) -> None:
    """In its text and in its arguments; it takes itself for the original."""
    site = "/usr/lib/python3/dist-packages"
    text = f"cat {site}/up/x.py ${{BASH_SOURCE[0]}}\n"
    step = step_of(tmp_path, "fix.sh", text, f" {site} 1")
    _, _, changed, *words = step.command
    assert changed == f"cat {step.folder}/up/x.py $0\n"
    assert words == [str((tmp_path / "fix.sh").resolve()), str(step.folder), "1"]
    assert step.text == f"sh {tmp_path}/fix.sh {step.folder} 1"


def test_what_it_names_in_its_folder_is_copied_beside_it(tmp_path: Path) -> None:
    """Other files are not, nor is the package itself."""
    (tmp_path / "fixes").mkdir()
    (tmp_path / "up").mkdir()
    (tmp_path / "more").mkdir()
    step = step_of(tmp_path, "fix.sh", "patch -p1 up/x.py < fixes/a.patch\n")
    assert [copy.target for copy in step.copies] == [step.folder / "fixes"]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("fix.txt", "words\n", "found a script for nothing, expected a Python file"),
        ("fix", "#!/usr/bin/ruby\n", "found a script for ruby"),
        ("fix.sh", "\0\1\n", "found a zero byte in it, expected a script"),
        ("Dockerfile", "FROM x\nRUN ls\n", "found no line that edits files of up"),
    ],
)
def test_what_cannot_be_run_is_refused(
    tmp_path: Path, name: str, text: str, fault: str
) -> None:
    with pytest.raises(ScaffoldError, match=fault):
        step_of(tmp_path, name, text)


def test_a_script_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError, match="No such file"):
        plan_scripts([str(tmp_path / "gone.sh")], workspace_in(tmp_path))


@pytest.mark.parametrize(
    "name", ["Dockerfile", "Dockerfile.gpu", "cuda.Dockerfile", "Containerfile"]
)
def test_a_dockerfile_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    """Its commands are steps, or are left out."""
    text = "FROM x\nRUN ls\nRUN sed -i s/a/b/ /x/site-packages/up/x.py\n"
    (tmp_path / name).write_text(text)
    plan = plan_scripts([str(tmp_path / name)], workspace_in(tmp_path))
    assert [step.line for step in plan.told] == [3]
    assert [part.text for part in plan.left_out] == ["ls"]
