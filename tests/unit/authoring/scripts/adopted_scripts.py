"""Adopts scripts that edit a release of `up`, for the tests of scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from authoring.index_of_up import INTO_MINE, serve
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

LIB = "import os\n\nLIMIT = 1\n\n\ndef f(a):\n    return a + LIMIT\n"
SITE = "/usr/local/lib/python3.12/dist-packages"
PATCH = """--- a/up/lib.py
+++ b/up/lib.py
@@ -6,2 +6,2 @@
 def f(a):
-    return a + LIMIT
+    return a - LIMIT
"""


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of `up` in a folder, and the working directory."""
    serve(world, monkeypatch, {"1.0": {"lib": LIB, "core__lib": LIB}})
    return world.folder


def adopted(
    capsys: pytest.CaptureFixture[str], *scripts: str, code: int = 0
) -> dict[str, Any]:
    """Adopt scripts into `mine`, and return the report."""
    capsys.readouterr()
    words = [
        "adopt",
        "--from-script",
        *scripts,
        *INTO_MINE,
        "--yes",
        "--format",
        "json",
    ]
    found = main(words)
    out, err = capsys.readouterr()
    assert found == code, err
    report: dict[str, Any] = json.loads(out)
    return report


def kinds(report: dict[str, Any]) -> dict[str, list[str]]:
    """The kinds of each row's changes."""
    return {
        patch["name"]: [change["kind"] for change in patch["changes"]]
        for patch in report["patches"]
    }
