"""What users copy from docs into their repositories, and the action that it uses."""

from __future__ import annotations

import re
from typing import Any

import yaml
from support.packages import REPOSITORY

_BLOCKS = re.compile(
    r"<!-- \.github/workflows/(\S+) -->\n```yaml\n(.*?)^```", re.M | re.DOTALL
)
_PAGES = [
    (REPOSITORY / "docs" / f"{name}.md").read_text("utf-8") for name in ("ci", "watch")
]

CI_PAGE = _PAGES[0]
WORKFLOWS = {block[1]: block[2] for page in _PAGES for block in _BLOCKS.finditer(page)}
ACTION_TEXT = (REPOSITORY / "action.yml").read_text("utf-8")
ACTION: dict[str, Any] = yaml.safe_load(ACTION_TEXT)
OURS = re.compile(r"\bref: v(\S+)\n *path: \.patchkit")


def workflow(name: str) -> dict[Any, Any]:
    """A workflow of the pages; YAML 1.1 reads the key `on` as True, GitHub does not."""
    data: dict[Any, Any] = yaml.safe_load(WORKFLOWS[name])
    data["on"] = data.pop(True)
    return data


def scripts(steps: list[dict[str, Any]]) -> list[str]:
    """The scripts that steps run."""
    return [step["run"] for step in steps if "run" in step]


def all_steps() -> list[dict[str, Any]]:
    """Every step of every workflow and of the action."""
    jobs = [job for name in WORKFLOWS for job in workflow(name)["jobs"].values()]
    return [step for job in jobs for step in job["steps"]] + ACTION["runs"]["steps"]
