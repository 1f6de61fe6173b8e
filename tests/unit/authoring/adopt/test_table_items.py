"""An item of a table that a module spells out, as the diff writes it."""

from __future__ import annotations

import pytest

from patchkit.authoring.adopt.body_code import BodyCode
from patchkit.authoring.adopt.definitions import Definitions
from patchkit.authoring.adopt.module_text import ModuleText
from patchkit.authoring.adopt.table_items import write_item
from patchkit.core.rows.declaration import Add, Replace
from patchkit.core.rows.target import Item
from patchkit.errors import ScaffoldError

BODY = """\
from json import dumps

NUMBER = 7
LONG = [
    dumps(1),
]


def made():
    return NUMBER
"""
TABLE = """\
TABLE = {
    "a": 1,  # first
    "b": (2,),  # last
}
"""


def with_item(text: str, key: object, by: str, *, is_new: bool = False) -> str:
    """Return a module with an item of its TABLE changed, or added."""
    module = ModuleText("up/lib.py", text)
    change = Add("up.lib:TABLE[0]", by=by) if is_new else Replace("up.lib:T[0]", by=by)
    body = BodyCode(Definitions.of("pack/patch_lib.py", BODY.encode()))
    write_item(module, change, "TABLE", Item(key), body)
    compile(module.text, "up/lib.py", "exec")
    return module.text


@pytest.mark.parametrize(
    ("text", "key", "by", "expected"),
    [
        (TABLE, "a", "NUMBER", '    "a": 7,  # first\n'),
        (TABLE, "b", "LONG", '    "b": [\n        dumps(1),\n    ],  # last\n'),
        (TABLE, "b", "made", '    "b": made,  # last\n'),
        ("TABLE = [1, 2]\n", 1, "NUMBER", "TABLE = [1, 7]\n"),
        ("TABLE: list[int] = [1]\n", 0, "dumps", "TABLE: list[int] = [dumps]\n"),
    ],
)
def test_a_value_takes_the_place_of_the_old_one(
    text: str, key: object, by: str, expected: str
) -> None:
    """Comments and the other items stay; what the value uses comes before the table."""
    new = with_item(text, key, by)
    assert expected in new
    assert ("from json import dumps" in new) == ("dumps" in expected)
    assert ("def made()" in new.partition("TABLE")[0]) == (by == "made")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE, '    "b": (2,),  # last\n    "c": 7,\n}\n'),
        ('TABLE = {\n    "a": 1\n}\n', '    "a": 1,\n    "c": 7\n}\n'),
        ('TABLE = {"a": 1}\n', 'TABLE = {"a": 1, "c": 7}\n'),
        ("TABLE = {}\n", 'TABLE = {"c": 7}\n'),
        ("TABLE = {\n    **{},\n}\n", '    **{},\n    "c": 7,\n}\n'),
    ],
)
def test_a_new_item_is_the_last_one(text: str, expected: str) -> None:
    """It stands on a line of its own where the others do."""
    assert expected in with_item(text, "c", "NUMBER", is_new=True)


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("TABLE = dict(a=1)\n", "a", "does not spell out the items of TABLE"),
        ('TABLE = {"a": 1}\n', "b", "does not spell out this item"),
        (
            'TABLE = {"a": 1}\nTABLE["a"] = 2\n',
            "a",
            "line 2 of up/lib.py changes TABLE",
        ),
        ("TABLE = [1]\nTABLE += [2]\n", 0, "line 2 of up/lib.py changes TABLE"),
        ('TABLE = {"a": 1}\nTABLE.update(b=2)\n', "a", "line 2 of up/lib.py changes"),
    ],
)
def test_a_table_that_code_fills_is_refused(
    text: str, key: object, reason: str
) -> None:
    """What the text says of an item would not be what the import makes of it."""
    with pytest.raises(ScaffoldError, match=reason):
        with_item(text, key, "NUMBER")


@pytest.mark.parametrize("text", ['TABLE = {"c": 1}\n', "TABLE = [1]\n"])
def test_an_item_is_added_to_a_dict_that_lacks_it(text: str) -> None:
    """A key that is there, and a list, are refused."""
    with pytest.raises(ScaffoldError, match="has no room for it in TABLE"):
        with_item(text, "c", "NUMBER", is_new=True)


def test_what_functions_do_with_a_table_does_not_matter() -> None:
    """They run after the patch as after the diff, and reading changes nothing."""
    text = 'TABLE = {"a": 1}\nKEYS = TABLE.keys()\n\n\ndef f():\n    TABLE["a"] = 2\n'
    assert 'TABLE = {"a": 7}' in with_item(text, "a", "NUMBER")
