"""An import stands among those of a module."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.source.import_lines import with_import, without_import


def with_one_more(text: str, statement: str) -> str:
    """Return the text of the module `up.lib` with an import more."""
    source = dedent(text).lstrip("\n")
    tree = ModuleTree("up.lib", "up/lib.py", False, ast.parse(source), source.encode())
    return with_import(tree, statement)


MODULE = '''
"""Words."""

from __future__ import annotations

import os
from typing import Any, cast

import numpy as np

from up.other import (
    deep,
)


def f(): ...
'''


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("import json", "from typing import Any, cast\nimport json\n\nimport numpy"),
        ("from typing import IO", "from typing import Any, cast, IO\n"),
        ("import numpy.linalg", "numpy as np\nimport numpy.linalg\n\nfrom up"),
        ("from up.other import wide", "import (\n    deep,\n    wide,\n)\n"),
        ("from up.more import a", "    deep,\n)\nfrom up.more import a\n\n\ndef"),
    ],
)
def test_an_import_stands_in_its_section(statement: str, lines: str) -> None:
    """It stands behind those of its package, or of the standard library, or joins one of them."""
    assert lines in with_one_more(MODULE, statement)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""Words."""\n\n\ndef f(): ...\n', '"""Words."""\n\nimport json\n\n\ndef f'),
        ('"""Words."""\nA = 1\n', '"""Words."""\n\nimport json\n\nA = 1\n'),
        ("# License\n\nA = 1\n", "# License\n\nimport json\n\nA = 1\n"),
        ("A = 1\n", "import json\n\nA = 1\n"),
        ('"""Words."""', '"""Words."""\n\nimport json'),
        ("from __future__ import annotations\nA = 1\n", "annotations\n\nimport json\n"),
        ("import numpy\n", "import json\n\nimport numpy\n"),
        ("def f(): ...\nimport os\n", "import json\n\ndef f"),
    ],
)
def test_the_first_import_stands_behind_what_a_module_begins_with(
    text: str, expected: str
) -> None:
    """A docstring, a license and `__future__` stay before it."""
    new = with_one_more(text, "import json")
    assert expected in new
    compile(new, "up/lib.py", "exec")


def test_a_name_is_taken_out_of_an_import_with_others() -> None:
    """The others stay, on one line or on several."""
    source = (
        "from a import b, c as d\nfrom e import (\n    f,\n    g,\n)\nimport h, i\n"
    )
    tree = ModuleTree("up.lib", "up/lib.py", False, ast.parse(source), source.encode())
    assert "from a import b\n" in without_import(tree, "d")
    assert "from e import (\n    g,\n)\n" in without_import(tree, "f")
    assert "import h\n" in without_import(tree, "i")
    assert without_import(tree, "c") == source
