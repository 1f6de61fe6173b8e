"""Every block of README and the docs is run, in order, a page as one session; or it says where.

Python runs beside a real vLLM, in one namespace for a page. Commands run in one shell, on the
index, in an environment in which patchkit is installed as a reader would install it.

Takes about 4 min.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import folders
import overlay
import page_session
import pytest
from patchkit_lab import cluster, scenario
from workflow_machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = folders.REPOSITORY
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
HERE = Path(__file__).parent
TOOLS = {"python", "console", "bash"}
FILE = re.compile(r"# (\S+\.py)\n")

ENGINE = """
import os
from vllm import LLM
if __name__ == "__main__":
    LLM(os.environ["MODEL"], enforce_eager=True, max_model_len=64, dtype="float32").generate("hi")
"""
UNTIL_READY = """
import os, signal, subprocess, sys, time, urllib.request
port, *command = sys.argv[1:]
with subprocess.Popen(command, start_new_session=True) as server:
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
        except OSError:
            time.sleep(0.2)
        else:
            os.killpg(server.pid, signal.SIGINT)
            break
    sys.exit(server.wait() not in (0, 130, -2))
"""
SMOKE = """#!/bin/sh
! patchkit list --format json | python -c '
import json, sys
rows = json.load(sys.stdin)["patches"]
sys.exit(not any(row["name"] == "log-slow-steps" and row["selected"] for row in rows))'
"""
BEFORE = {
    "docs/fields.md": "from pydantic import field_validator\n"
    "from vllm.sampling_params import SamplingParams\n",
    "docs/write-a-patch.md": "import time\n",
}
"""What the Python of a page may take for known."""
AFTER = {
    "docs/fields.md": "assert Colder().temperature == 0.5\n",
    "docs/resolution.md": "assert found.state == 'present' and found.kind == 'method', found\n",
    "docs/targets.md": (
        "import enum, functools, types\n"
        "from patch_registry import entry\n"
        "assert entry.class_name == 'MyLlama' and clock.time() == 0.0 and clock.monotonic()\n"
        "color = enum.Enum('Color', {'RED': 'red'})\n"
        "undo = add_purple(types.SimpleNamespace(Color=color))\n"
        "assert color('purple') is color.PURPLE\n"
        "undo()\n"
        "assert not hasattr(color, 'PURPLE')\n"
        "show = functools.singledispatch(str)\n"
        "undo = show_numbers(types.SimpleNamespace(show=show))\n"
        "assert show(3) == 'number 3'\n"
        "undo()\n"
        "assert show(3) == '3'\n"
    ),
    "docs/write-a-patch.md": "assert timed(lambda: 7, None, (), {}) == 7\n",
}
"""What shows that it did what the page says."""
ROW = (
    "mkdir -p my_pack; export PATCHKIT_PATCHES=my_pack PYTHONPATH=$PWD;"
    " echo 'from patchkit import *;"
    ' PATCHES = (Patch(name="my-patch", body="patch_a", requires=("{}",), roles=set(Role),'
    ' changes=(Wrap("vllm.v1.engine.core:EngineCore.{}", by="w"),)),)\' > my_pack/__init__.py;'
    " echo 'def w(wrapped, instance, args, kwargs): ...' > my_pack/patch_a.py"
)
"""The row that a page speaks of and does not have."""
FIRST = {
    "docs/releases.md#2": ROW.format("vllm>=0.32,<0.34", "step"),
    "docs/releases.md#3": ROW.format("vllm>=0.25,<0.26", "log_iteration_details"),
    "README.md#3": "patchkit run --patches my_pack -- python engine.py",
    "README.md#5": "export PATCHKIT_PATCHES=my_pack PYTHONPATH=$PWD",
    "docs/operations.md#0": "mv readme my_pack; export PATCHKIT_PATCHES=my_pack PYTHONPATH=$PWD",
    "docs/operations.md#1": "patchkit run -- python engine.py",
    "docs/status.md#0": "mv readme my_pack; patchkit run --patches my_pack -- python engine.py;"
    " export DIR=$(ls -td $TMPDIR/patchkit-*/* | head -1)",
    "docs/your-patches.md#13": "export PATCHKIT_PATCHES=fixes",
}
"""What a reader has done before a block."""
FINDINGS = (0, 1)
CODES = {
    "patchkit status": FINDINGS,  # of a command that ended, with patches that were never called
    "patchkit doctor": FINDINGS,
    "patchkit bisect": FINDINGS,
    "patchkit fit": FINDINGS,
    "patchkit check": FINDINGS,
    "patchkit history my-patch": FINDINGS,
    "patchkit adopt my_plugin": FINDINGS,
    "patchkit export": FINDINGS,
    "patchkit rebase exit-on-engine-death": FINDINGS,
}
INSTEAD = {
    "vllm serve MODEL": "vllm serve $MODEL --port $PORT --enforce-eager --max-model-len 64"
    " --dtype float32",
    " DIR": " $DIR",
    "--patch NAME": "--patch log-slow-steps",
    "--html FILE": "--html status.html",
    "fit my-plugin": "fit my_plugin",
    "pip install ./patchkit": "pip install --no-deps vllm-patchkit",
    "pip install vllm-patchkit": "pip install --no-deps vllm-patchkit",
}
ELSEWHERE = {
    "README.md": {
        "patchkit adopt my-plugin": "docs/your-patches.md has a plugin that patches",
        "make ": "it takes minutes to an hour, and `make test-rest` runs this test",
    },
    "docs/benchmarks.md": {"": "seven minutes of measuring; nothing is asserted"},
    "docs/bisect.md": {
        "": "tests/e2e/test_bisect.py and tests/unit/cli/test_bisect.py"
    },
    "docs/bootstrap.md": {
        "": "tests/unit/runtime/bootstrap; on Ray tests/e2e/test_ways_in.py"
    },
    "docs/conformance.md": {
        "": "twelve minutes; tests/unit/examples/test_conformance.py runs its parts"
    },
    "docs/edit.md": {
        ">>> ": "tests/unit/runtime/changes/source, on functions of the tests"
    },
    "docs/fit.md": {
        "patchkit fit dist/": "a wheel of somebody else: tests/e2e/test_fit.py",
        "patchkit fit verl": "a package that is not installed here: tests/e2e/test_fit.py",
        "patchkit fit .": "tests/unit/analysis/check",
    },
    "docs/in-effect.md": {"patchkit status": "tests/e2e/test_in_effect.py, and README"},
    "docs/index.md": {"": "README has the same commands"},
    "docs/kubernetes.md": {
        "": "tests/unit/docs/test_kubernetes.py; no cluster is here"
    },
    "docs/lock.md": {
        "": "0.34.0 is a release to come; tests/unit/cli/test_lock_command.py"
    },
    "docs/metrics.md": {"": "tests/unit/cli/report/test_status_metrics.py"},
    "docs/processes.md": {
        "patchkit probe": "tests/e2e/test_probe.py",
        "patchkit run": "tests/unit/packs/test_weight_cache.py: the daemon needs a GPU",
    },
    "docs/reference.md": {"eval": "completion asks for an interactive shell"},
    "docs/releases.md": {
        "patchkit history my-patch --path": "a repository of thousands of commits; "
        "tests/unit/cli/test_releases.py makes one",
        "patchkit list --debt": "what it prints is of the day; tests/unit/cli/test_debt.py",
    },
    "docs/sglang.md": {
        "patchkit run": "tests/sglang, in an environment that has SGLang",
        "patchkit status": "tests/sglang",
        "Patch(": "tests/sglang/test_both_engines.py runs the whole pack",
    },
    "docs/shipped-rows.md": {
        "": "clusters and models: tests/e2e/test_cpu_ray.py, test_data_llm.py, test_old_ray.py"
    },
    "docs/status.md": {
        "patchkit run": "README has the same command",
        "patchkit status --ray": "tests/e2e/test_status_ray.py",
        "patchkit status --watch": "tests/unit/cli/test_status_page.py and tests/browser",
        "ray job": "tests/e2e/test_status_ray.py",
        "import patchkit\nimport ray": "tests/e2e/test_status_ray.py",
    },
    "docs/tutorial.md": {"": "tests/e2e/test_tutorial.py"},
    "docs/two-nodes.md": {"": "tests/e2e/test_two_nodes.py"},
    "docs/vllm-ascend.md": {"": "tests/unit/studies/test_ascend_targets.py"},
    "docs/write-a-patch.md": {"patchkit probe": "tests/e2e/test_probe.py"},
    "docs/your-patches.md": {
        "curl": "another host than the index",
        "patchkit adopt NUMBER": "the same command runs with a.diff in README",
        "patchkit adopt vllm --installed": "tests/unit/authoring/diffs/test_adopt_command.py",
        "patchkit adopt vllm_ascend": "a wheel of somebody else: tests/e2e/test_adopt_piles.py",
        "patchkit run": "README has the same command",
    },
}
"""What is run by another test, or cannot be run here, by how it begins."""


def named(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def left(page: Path, text: str) -> bool:
    """Whether something of a page is run elsewhere."""
    return any(text.startswith(begin) for begin in ELSEWHERE.get(named(page), ()))


def blocks(page: Path) -> list[page_session.Block]:
    return [
        one
        for one in page_session.blocks(page.read_text("utf-8"))
        if one.language in TOOLS
    ]


@pytest.fixture(scope="module")
def env(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A wheel of patchkit stands for the one on the index; MODEL is a tiny one."""
    place = tmp_path_factory.mktemp("reader")
    machine = Machine.make(place)
    python = overlay.make(place / "with-vllm", pip=True)
    site = next((place / "with-vllm").glob("lib/*/site-packages"))
    # `vllm serve` asks for a distribution of its name, which builds for CPUs are not.
    for name, version in (("my-plugin", "1.0"), ("vllm", "0.32.0+cpu")):
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(text)
        (info / "RECORD").write_text("my_plugin.py,,\n" if name == "my-plugin" else "")
    (site / "my_plugin.py").write_text("from vllm import LLM\n")
    return {
        **{
            name: value
            for name, value in machine.environ.items()
            if name != "PYTHONPATH"
        },
        **scenario.CPU,
        "VLLM_PLUGINS": "patchkit",
        "MODEL": str(model),
        "PORT": str(cluster.free_ports(1)[0]),
        "TMPDIR": str(place),
        "COLUMNS": "80",
        "HOME": os.environ["HOME"],
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    }


def files(folder: Path) -> None:
    """What a page's commands name and no block writes."""
    diff = page_session.blocks(
        (REPOSITORY / "docs" / "your-patches.md").read_text("utf-8")
    )
    text = next(one.text for one in diff if "diff --git" in one.text)
    (folder / "a.diff").write_text(text[text.index("diff --git") :])
    for block in page_session.blocks((REPOSITORY / "README.md").read_text("utf-8")):
        if name := FILE.match(block.text):
            place = folder / name[1].replace("my_pack", "readme")
            place.parent.mkdir(exist_ok=True)
            place.write_text(block.text)
    (folder / "engine.py").write_text(ENGINE)
    (folder / "until_ready.py").write_text(UNTIL_READY)
    (folder / "smoke.sh").write_text(SMOKE)
    (folder / "smoke.sh").chmod(0o755)
    # As a checkout beside it.
    (folder.parent / "vllm").symlink_to(sysconfig.get_path("purelib"))


def command_of(text: str) -> str:
    for page, here in INSTEAD.items():
        text = text.replace(page, here)
    return f"python until_ready.py $PORT {text}" if "vllm serve" in text else text


def codes_of(command: str) -> tuple[int, ...]:
    return next(
        (codes for begin, codes in CODES.items() if command.startswith(begin)), (0,)
    )


def run_python(page: Path, sources: list[str], folder: Path) -> None:
    """Run the blocks that are no files, in the environment that has vLLM."""
    given = folder / "blocks.json"
    given.write_text(
        json.dumps((BEFORE.get(named(page), ""), sources, AFTER.get(named(page), "")))
    )
    done = subprocess.run(
        [sys.executable, str(HERE / "docs_driver.py"), str(given)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def texts(page: Path) -> Iterator[str]:
    """What a page has that is run by itself: Python by the block, and commands."""
    for block in blocks(page):
        if block.language == "python" or block.text.startswith(">>>"):
            yield block.text
        else:
            yield from (command for command, _ in page_session.commands(block))


def sessions() -> Iterator[Path]:
    """The pages of which something is run here."""
    return (page for page in PAGES if not all(left(page, text) for text in texts(page)))


def perform(
    session: page_session.Session, page: Path, block: page_session.Block
) -> str:
    """Write the file that a block is, or run its commands; return the Python that is left."""
    name = FILE.match(block.text)
    if block.language == "toml" or name:
        session.write(name[1] if name else block.mark or "pyproject.toml", block.text)
    elif block.language == "python":
        return "" if left(page, block.text) else block.text
    elif block.language in {"console", "bash"} and not block.text.startswith(">>>"):
        for command, expected in page_session.commands(block):
            if not left(page, command):
                session.run(command_of(command), expected, codes_of(command))
    return ""


@pytest.mark.parametrize("page", list(sessions()), ids=named)
def test_a_page_is_a_session(page: Path, tmp_path: Path, env: dict[str, str]) -> None:
    """Files are written, commands run and print what the page says, Python runs."""
    folder, sources = tmp_path / "project", list[str]()
    folder.mkdir()
    files(folder)
    with page_session.Session(folder, env, any_number=True) as session:
        for at, block in enumerate(page_session.blocks(page.read_text("utf-8"))):
            if first := FIRST.get(f"{named(page)}#{at}"):
                session.run(first)
            sources.append(perform(session, page, block))
    if any(sources):
        run_python(page, list(filter(None, sources)), folder)


def test_what_is_run_elsewhere_is_on_the_page() -> None:
    """No reason outlives its block."""
    for name, begins in ELSEWHERE.items():
        there = list(texts(REPOSITORY / name))
        for begin in begins:
            assert any(text.startswith(begin) for text in there), (name, begin)
