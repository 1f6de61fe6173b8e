"""Terminal pictures for the docs: README's pack, run with a real vLLM, as a terminal shows it.

`--keep DIR` runs it there, and leaves what screenshots are made of.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from patchkit_lab import processes, scenario
from rich.console import Console
from rich.text import Text

REPOSITORY = Path(__file__).resolve().parents[1]
ASSETS = REPOSITORY / "docs" / "assets"
WIDTH = 96
FILE = re.compile(r"^```python\n# (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENGINE = """
import os
from vllm import LLM
if __name__ == "__main__":
    model = os.environ["MODEL"]
    LLM(model, enforce_eager=True, max_model_len=64, dtype="float32").generate("hello")
"""
OTHER = """
from patchkit import Patch, Role, Wrap

PATCHES = (
    Patch(
        name="name-ray-workers",
        body="patch_ray_utils",
        requires=("vllm>=0.30,<0.34",),
        roles={Role.WORKER},
        changes=(Wrap("vllm.v1.executor.ray_utils:RayWorkerWrapper.execute_model", by="named"),),
        why="Ray calls all workers the same.",
        upstream="none: a picture needs a patch that breaks",
        sunset="pictures are drawn without it",
    ),
)
"""
BODY = (
    "def named(wrapped, instance, args, kwargs):\n    return wrapped(*args, **kwargs)\n"
)
PICTURES = {
    "status": "patchkit status",
    "check": "patchkit check --patches my_pack --patches other_pack --releases 'vllm>=0.28'",
}


def main() -> None:
    """Write each picture anew."""
    with contextlib.ExitStack() as stack:
        is_kept = sys.argv[1:2] == ["--keep"]
        directory = (
            sys.argv[2]
            if is_kept
            else stack.enter_context(tempfile.TemporaryDirectory())
        )
        folder = Path(directory)
        python = Path(sys.executable)
        for name, text in FILE.findall((REPOSITORY / "README.md").read_text("utf-8")):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        (folder / "engine.py").write_text(ENGINE)
        (folder / "other_pack").mkdir()
        (folder / "other_pack" / "__init__.py").write_text(OTHER)
        (folder / "other_pack" / "patch_ray_utils.py").write_text(BODY)
        model = scenario.make_model(python, folder)
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        env = {**scenario.CPU, "MODEL": str(model), "PATH": path, "TMPDIR": directory}
        command = "patchkit run --patches my_pack -- python engine.py"
        settings = processes.environment(env)
        said(command, folder, settings)
        for name, words in PICTURES.items():
            draw(name, words, said(words, folder, settings))


def said(command: str, folder: Path, env: dict[str, str]) -> str:
    """What a command prints on a terminal of so many columns, with its colours."""
    terminal = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run(
        command,
        shell=True,  # as it is typed
        cwd=folder,
        env={**env, **terminal},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode > 1:
        sys.exit(f"$ {command}\n{done.stdout}{done.stderr}")
    return done.stdout.replace(str(folder), "/tmp")


def draw(name: str, command: str, output: str) -> None:
    """Draw a terminal with a command and what it printed."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(output.rstrip("\n")))
    svg = console.export_svg(title="patchkit", unique_id=f"patchkit-{name}")
    # Nothing is fetched from elsewhere: the reader's own monospace font serves.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "ui-monospace")
    svg = svg.replace(
        "<svg ", f'<svg role="img" aria-label="{html.escape(command)}" ', 1
    )
    (ASSETS / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    main()
