"""A pack that is installed beside a real vLLM, and pytest: only what a test names is applied.

Takes about 35 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from pathlib import Path

TARGET = "vllm.v1.request:Request.is_finished"
FILES = {
    "acme-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme\nVersion: 1\n",
    "acme-1.dist-info/entry_points.txt": "[patchkit.patches]\nacme = acme.patches\n",
    "acme/__init__.py": "",
    "acme/patches/__init__.py": f"""
from patchkit import Patch, Role, Wrap
PATCHES = (
    Patch(
        name="acme", body="patch_request", requires=("vllm",), roles=set(Role),
        changes=(Wrap("{TARGET}", by="by"),),
    ),
)
""",
    "acme/patches/patch_request.py": "def by(wrapped, instance, args, kwargs): return 'acme'\n",
    "asking.py": """
import multiprocessing

def seen():
    import vllm
    from vllm.plugins import load_general_plugins
    from vllm.v1.request import Request
    load_general_plugins()
    try:
        return Request.is_finished(None)
    except AttributeError:
        return "vllm"

def told(answers):
    answers.put(seen())

def in_child():
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=told, args=(answers,))
    child.start()
    answer = answers.get(timeout=600)
    child.join()
    return answer
""",
    "conftest.py": "import vllm.v1.request\n",
    "test_it.py": """
import asking, pytest

def test_nothing_is_applied():
    assert asking.seen() == "vllm"

def test_nor_in_a_child():
    assert asking.in_child() == "vllm"

@pytest.mark.patched("acme")
def test_what_is_named():
    assert asking.seen() == "acme"

def test_a_child_is_asked_for(monkeypatch):
    monkeypatch.setenv("PATCHKIT", "1")
    assert asking.in_child() == "acme"
""",
}


def test_only_what_a_test_names_is_applied(python: Path, tmp_path: Path) -> None:
    """Importing vLLM loads patchkit's plugin, here and in a spawned child, and arms neither."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    env = processes.environment(scenario.VLLM, {"PYTHONPATH": str(tmp_path)})
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    outcome = processes.run(command, env, 600, tmp_path / "log")
    assert outcome.status == 0, outcome.tail()
    assert "4 passed" in outcome.output
    program = [str(python), "-c", "import asking; print(asking.seen())"]
    outcome = processes.run(program, env, 600, tmp_path / "program.log")
    assert outcome.output.splitlines()[-1] == "acme", outcome.tail()
