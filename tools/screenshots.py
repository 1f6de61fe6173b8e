"""Screenshots for the docs: the pages that `status` and `check` write, of a real run, in chromium.

`python tools/screenshots.py PYTHON` runs with the environment `browser`; PYTHON is that of one that
holds vLLM.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

REPOSITORY = Path(__file__).resolve().parents[1]
ASSETS = REPOSITORY / "docs" / "assets"
SIZE = {"width": 1000, "height": 640}
PAGES = {
    "status-page": "patchkit status --html status-page.html",
    "check-page": "patchkit check --patches my_pack --patches other_pack --releases 'vllm>=0.28'"
    " --format html --output check-page.html",
}


def main() -> None:
    """Write each page by its command, and draw it."""
    python = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        made = [
            str(python),
            str(Path(__file__).with_name("pictures.py")),
            "--keep",
            directory,
        ]
        subprocess.run(
            made, check=True, env={**os.environ, "PYTHONPATH": "tools"}, cwd=REPOSITORY
        )
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "TMPDIR": directory}
        for command in PAGES.values():
            done = subprocess.run(command, shell=True, cwd=folder, env=env, check=False)
            if done.returncode > 1:
                sys.exit(f"$ {command}")
        draw(folder)


def draw(folder: Path) -> None:
    """Draw the pages as a browser shows them."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"]
        )
        for name in PAGES:
            page = browser.new_page(viewport=SIZE)
            page.goto((folder / f"{name}.html").as_uri())
            page.screenshot(path=ASSETS / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
