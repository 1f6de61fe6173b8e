"""A new field stands where a person would put it."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.source.body_code import BodyCode
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.field_text import add_field, read_default
from patchkit.authoring.source.module_text import ModuleText
from patchkit.core.rows.declaration import AddField
from patchkit.errors import ScaffoldError

HEAD = "from dataclasses import dataclass\n\n\n@dataclass\n"
BODY = BodyCode(
    Definitions.of("pack/patch_lib.py", b"from pathlib import Path\n"),
)


def with_field(text: str, annotation: object = "bool", default: object = False) -> str:
    """Return a module with a field `new` more in its class `C`."""
    module = ModuleText("up/lib.py", text)
    change = AddField("up.lib:C", name="new", type=annotation, default=default)
    add_field(module, change, "C", BODY)
    compile(module.text, "up/lib.py", "exec")
    return module.text


NEW = "new: bool = field(default=False, kw_only=True)"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            '    """Settings."""\n\n    size: int = 1\n    """How large."""\n\n'
            "    def m(self): ...\n",
            f'    """How large."""\n    {NEW}\n\n    def m(self): ...\n',
        ),
        (
            "    size: int = 1  # how large\n    name: str = 'a'\n",
            f"    name: str = 'a'\n    {NEW}\n",
        ),
        (
            '    """Settings."""\n\n    def m(self): ...\n',
            f'    """Settings."""\n\n    {NEW}\n\n    def m(self): ...\n',
        ),
        ("    def m(self): ...\n", f"    {NEW}\n\n    def m(self): ...\n"),
        ('    """Settings."""\n', f'    """Settings."""\n\n    {NEW}\n'),
        ("    pass\n", f"class C:\n    {NEW}\n"),
    ],
)
def test_a_field_follows_the_others(members: str, expected: str) -> None:
    """It comes after the last one and its docstring, and before methods."""
    text = with_field(f"{HEAD}class C:\n{members}")
    assert expected in text
    assert text.startswith("from dataclasses import dataclass, field\n")


@pytest.mark.parametrize(
    ("imports", "line"),
    [
        ("import dataclasses\n", "new: bool = dataclasses.field("),
        ("from dataclasses import dataclass, field\n", "new: bool = field("),
        ("from attrs import field\n", "new: bool = dataclasses.field("),
    ],
)
def test_the_function_is_called_as_the_module_calls_it(imports: str, line: str) -> None:
    """An import is added only where the module has none."""
    text = with_field(f"{imports}\n\nclass C:\n    a: int = 1\n")
    assert line in text
    assert text.count("import dataclasses") + text.count("import dataclass,") == 1


@pytest.mark.parametrize(
    ("annotation", "default", "line"),
    [
        (int, 1, "new: int = field(default=1, kw_only=True)"),
        (list[int], [], "new: list[int] = field(default_factory=list, kw_only=True)"),
        (
            "list[int]",
            [1],
            "new: list[int] = field(default_factory=lambda: [1], kw_only=True)",
        ),
        ("Path | None", None, "new: Path | None = field(default=None, kw_only=True)"),
    ],
)
def test_type_and_default_are_written_as_code(
    annotation: object, default: object, line: str
) -> None:
    """Each instance gets a list of its own, and a type of the body brings its import."""
    text = with_field(f"{HEAD}class C:\n    a: int = 1\n", annotation, default)
    assert line in text
    assert ("from pathlib import Path\n" in text) == ("Path" in line)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{HEAD}class C: a: int = 1\n", "the class C is written on one line"),
        ("C = 1\n", "C is no class in up/lib.py"),
        (
            "from attrs import field\ndataclasses = 1\nclass C:\n    a: int = 1\n",
            "has another thing named dataclasses",
        ),
    ],
)
def test_a_class_without_room_is_refused(text: str, reason: str) -> None:
    """The reason says what is in the way."""
    with pytest.raises(ScaffoldError, match=reason):
        with_field(text)


@pytest.mark.parametrize("default", [None, 3, "a", [], [1], {}, {"a": 1}, {1}, (1,)])
def test_the_default_of_a_written_field_is_read_again(default: object) -> None:
    """What `adopt` reads of an exported field is the default that the row had."""
    text = with_field(f"{HEAD}class C:\n    size: int = 1\n", default=default)
    definitions = Definitions.of("up/lib.py", text.encode())
    node = definitions.named["C.new"]
    assert isinstance(node, ast.AnnAssign)
    assert node.value is not None
    assert read_default(node.value, definitions.imports) == default


FIELD = {"field": "from dataclasses import field"}


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("field(default=made())", FIELD),
        ("field(default_factory=made)", FIELD),
        ("field(default_factory=lambda a: [a])", FIELD),
        ("field(default=1, repr=False)", FIELD),
        ("field()", FIELD),
        ("field(default=1)", {"field": "from other import field"}),
        ("field(default=1)", {}),
        ("made(default=1)", FIELD),
    ],
)
def test_what_is_no_default_alone_is_refused(
    text: str, imports: dict[str, str]
) -> None:
    """A call that says more of the field than its default, or another function of that name."""
    node = ast.parse(text, mode="eval").body
    with pytest.raises(ValueError, match=r"malformed|a default alone"):
        read_default(node, imports)
