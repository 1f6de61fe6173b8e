"""Imports of a body that follow what moved."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.rebase.moved_names import with_moved
from patchkit.core.rows.target import Target

MOVED = {
    Target("up.mod", "f"): Target("up.late", "f"),
    Target("up.mod", "g"): Target("up.late", "h"),
    Target("up.part"): Target("up.inner.part"),
}


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("from up.mod import f", "from up.late import f"),
        ("from up.mod import f as one", "from up.late import f as one"),
        ("from up.mod import g", "from up.late import h as g"),
        ("from up.mod import g as h", "from up.late import h"),
        (
            "from up.mod import a, f, b",
            "from up.mod import a, b\nfrom up.late import f",
        ),
        (
            "from up.mod import (\n    f,  # why\n)\nx = 1",
            "from up.late import f\nx = 1",
        ),
        ("from up.mod import \\\n    f\nx = 1", "from up.late import f\nx = 1"),
        ("from up.mod import f  # noqa: F401", "from up.late import f  # noqa: F401"),
        ("from up import part, mod", "from up import mod\nfrom up.inner import part"),
        (
            "def w():\n    from up.mod import a, f\n    return f",
            "def w():\n    from up.mod import a\n    from up.late import f\n    return f",
        ),
        (
            "def w():\n\tfrom up.mod import a, f\n\treturn f",
            "def w():\n\tfrom up.mod import a\n\tfrom up.late import f\n\treturn f",
        ),
        (
            "import os; from up.mod import a, f; x = 'ü'",
            "import os; from up.mod import a; from up.late import f; x = 'ü'",
        ),
        (
            "x = 'üü'; from up.mod import f; from up.mod import g as i",
            "x = 'üü'; from up.late import f; from up.late import h as i",
        ),
        (
            "if TYPE_CHECKING: from up.mod import a, f",
            "if TYPE_CHECKING: from up.mod import a; from up.late import f",
        ),
        (
            "from up.mod import a, f; x = 1",
            "from up.mod import a\nfrom up.late import f; x = 1",
        ),
        (
            "try:\n    from up.mod import f\nexcept ValueError:\n    from up.mod import g\n",
            "try:\n    from up.late import f\nexcept ValueError:\n    from up.late import h as g\n",
        ),
        (
            "a = '''\n\f'''\n\ffrom up.mod import f",
            "a = '''\n\f'''\n\ffrom up.late import f",
        ),
    ],
)
def test_an_import_of_what_moved_names_its_new_place(text: str, new: str) -> None:
    """It binds the same name as before; all else of its lines stays."""
    assert with_moved(text, MOVED) == new
    ast.parse(new)


@pytest.mark.parametrize(
    "text",
    [
        "from up.mod import a",
        "from up.mod import *",
        "from .mod import f",
        "from . import mod",
        "import up.mod\nimport up.part as p\n",
        "from other.mod import f",
        "text = 'from up.mod import f'\n",
        "from up.mod import f\ndef (",
        "",
    ],
)
def test_other_imports_stay_as_they_are(text: str) -> None:
    """What has not moved, relative and plain imports, and a file that does not parse are kept."""
    assert with_moved(text, MOVED) == text
