"""The study of what vllm-ascend patches: what it sets in vLLM, and how long that was there."""

from __future__ import annotations

import ast
import zipfile
from textwrap import dedent
from typing import TYPE_CHECKING

import ascend_targets as tool
import pytest
from analysis.check.released import Memory

from patchkit.analysis.check.releases import CheckedRelease

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def found_in(source: str) -> list[str]:
    """The dotted names that statements set."""
    return list(tool.set_in(ast.parse(dedent(source)).body, tool.Scope()))


def release(version: str, files: Mapping[str, str]) -> CheckedRelease:
    """A release of vLLM that lies in memory."""
    source = Memory(f"vllm {version}", version, {"vllm/__init__.py": "", **files})
    return CheckedRelease(f"vllm {version}", "vllm", version, lambda: source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import vllm.a\nvllm.a.f = g", ["vllm.a.f"]),
        ("import vllm.a as a\na.C.f = g", ["vllm.a.C.f"]),
        ("from vllm.a import C as D\nD.f: int = 1", ["vllm.a.C.f"]),
        ("from vllm import a\nb = a\nb.f = g", ["vllm.a.f"]),
        ("import sys\nsys.modules['vllm.a'].f = g", ["vllm.a.f"]),
        ("import sys\nm = sys.modules.get('vllm.a')\nif m:\n    m.f = g", ["vllm.a.f"]),
        ("import importlib\nimportlib.import_module('vllm.a').f = g", ["vllm.a.f"]),
        ("from vllm import a\nsetattr(a, 'f', g)", ["vllm.a.f"]),
        (
            "from vllm import a, b\nfor m in (a, b):\n    for n in ('f', 'g'):\n"
            "        setattr(m, n, h)",
            ["vllm.a.f", "vllm.a.g", "vllm.b.f", "vllm.b.g"],
        ),
        ("from vllm import a\ndef patch():\n    a.f = g", ["vllm.a.f"]),
        ("from vllm import a\ndef patch(a):\n    a.f = g", []),
        ("from . import a\na.f = g", []),
        ("from vllm import a\nx = a.f", []),
        ("from vllm import a\na.f: int", []),
    ],
)
def test_what_is_set_is_listed(source: str, expected: list[str]) -> None:
    """Imports, aliases, loops and `setattr` are followed; what is read, or a parameter, is not."""
    assert found_in(source) == expected


def test_a_wheel_and_a_directory_have_the_same_targets(tmp_path: Path) -> None:
    """Only modules that patch are read, and only what is set in vLLM counts."""
    files = {
        "vllm_ascend/patch/worker/patch_a.py": "from vllm import a\nimport os\na.f = os.x = g",
        "vllm_ascend/other.py": "from vllm import a\na.other = g",
    }
    wheel = tmp_path / "one.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
            file = tmp_path / "tree" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    assert tool.dotted_targets(wheel) == ["vllm.a.f"]
    assert tool.dotted_targets(tmp_path / "tree") == ["vllm.a.f"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="found no Python below"):
        tool.dotted_targets(tmp_path / "empty")


def test_a_dotted_name_is_split_where_modules_end() -> None:
    """The modules of a release decide; without a release, a capital letter begins a class."""
    known = {"vllm", "vllm.a"}.__contains__
    assert str(tool.split("vllm.a.C.f", known)) == "vllm.a:C.f"
    assert str(tool.split("vllm.a.b.f", known)) == "vllm.a:b.f"
    assert str(tool.split("vllm.a.b._C.f", tool.looks_like_module)) == "vllm.a.b:_C.f"


def test_a_target_has_one_span_for_releases_that_agree() -> None:
    """An attribute that its class never had counts as added in releases that have the class."""
    with_f = {"vllm/a.py": "class C:\n    def f(self): return [1, 2, 3]\n"}
    without = {"vllm/a.py": "class C: ...\n"}
    releases = [release("1.0", with_f), release("1.1", with_f), release("2.0", without)]
    releases.append(release("3.0", {}))
    kept, added = tool.stories(["vllm.a.C.f", "vllm.a.C.new"], releases)
    assert str(kept.target) == "vllm.a:C.f"
    assert [span[:2] for span in kept.spans()] == [
        ("1.0 - 1.1", "present"),
        ("2.0 - 3.0", "absent"),
    ]
    assert [span[:2] for span in added.spans()] == [
        ("1.0 - 2.0", "added"),
        ("3.0", "absent"),
    ]
    assert next(tool.lines(added)) == "vllm.a:C.new"
    spans = tool.as_data(added)["spans"]
    assert spans == [
        {"releases": "1.0 - 2.0", "state": "added", "moved_to": "", "likeness": None},
        {"releases": "3.0", "state": "absent", "moved_to": "", "likeness": None},
    ]
