"""Rows made of a Dockerfile and a patcher, in the vLLM that is installed: its code is as edited.

Takes about 30 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SITE = "/usr/local/lib/python3.12/dist-packages"
DOCKERFILE = f"""FROM vllm/vllm-openai:v0.32.0
COPY patcher.py /opt/patcher.py
RUN pip install --no-cache-dir nothing && \\
    sed -i 's/HANDSHAKE_TIMEOUT_MINS = 5/HANDSHAKE_TIMEOUT_MINS = 30/' \\
        {SITE}/vllm/v1/engine/core.py
RUN python3 /opt/patcher.py && rm -rf /var/cache/pip
"""
PATCHER = """import pathlib
import vllm

path = pathlib.Path(vllm.__file__).parent / "utils" / "counter.py"
text = path.read_text()
assert "self.counter += 1" in text
path.write_text(text.replace("self.counter += 1", "self.counter += 2"))
"""
READ = """import json, logging
logging.disable()
from vllm.utils.counter import Counter
from vllm.v1.engine import core
counter = Counter()
next(counter)
print(json.dumps([core.HANDSHAKE_TIMEOUT_MINS, next(counter)]))
"""


def patchkit(folder: Path, *words: str) -> str:
    """Run patchkit in a folder, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "patchkit", *words],
        cwd=folder,
        env={**os.environ, "VLLM_LOGGING_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_dockerfile_edits_is_so_with_its_rows(tmp_path: Path) -> None:
    """A constant and a function of the installed release, which stays as it is on disk."""
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "patcher.py").write_text(PATCHER)
    words = [
        "--from-script",
        "Dockerfile",
        "--yes",
        "--into",
        "image",
        "--format",
        "json",
    ]
    report: dict[str, Any] = json.loads(
        patchkit(tmp_path, "adopt", *words, "--releases", "vllm==0.32.0")
    )
    assert report["left"] == []
    assert [part["text"] for part in report["script"]["left_out"]] == [
        "pip install --no-cache-dir nothing",
        "rm -rf /var/cache/pip",
    ]
    command = [sys.executable, "-c", READ]
    patched = patchkit(tmp_path, "run", "--patches", "image", "--", *command)
    assert json.loads(patched.splitlines()[-1]) == [30, 2]
    plain = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(plain.stdout.splitlines()[-1]) == [5, 1]
