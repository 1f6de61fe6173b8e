"""Piles that do more than set attributes: rows do all of it, or the list names it."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from authoring.piles.pile_of_up import (
    ROWS,
    START,
    World,
    here,
    kinds,
    observed,
    world,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["here", "world"]

PROBE = """
import json
import os
from up import lib, user
told = [lib.f(1), lib.g(), lib.f(1), lib.C().m(1), lib.C.size, lib.D.size, lib.TABLE]
told += [getattr(lib, "extra", None), os.environ.get("UP_MODE"), user.use()]
print(json.dumps(told, default=repr))
"""
SETS_MORE = """
    from up import lib

    def g():
        return "new"

    lib.g = g
    lib.C.size = 5
    """
IN_ROWS: dict[str, Mapping[str, str]] = {
    "a module that the call's module imports": {
        "more": SETS_MORE,
        "start": """
            import pile.more
            from up import lib

            def register():
                setattr(lib.C, "si" + "ze", lib.C.size + 1)
            """,
    },
    "a module that only the call imports": {
        "more": "import os\nos.environ['UP_MODE'] = 'more'\ndef g():\n    return 'new'\n",
        "start": """
            from up import lib

            def register():
                from pile.more import g

                lib.g = g
            """,
    },
    "a variable of the environment": {
        "start": """
            import os
            from up import lib

            def g():
                return os.environ["UP_MODE"]

            def register():
                os.environ.setdefault("UP_MODE", "fast")
                lib.g = g
            """
    },
    "tables of its own, one in the other": {
        "start": """
            from collections import deque
            from up import lib

            class Settings:
                inner = {"a": {"b": 1}}

            QUEUE = deque()

            def g():
                return Settings.inner["a"]["b"], len(QUEUE)

            def register():
                Settings.inner["a"]["b"] = 2
                QUEUE.append(1)
                lib.g = g
            """
    },
    "an attribute of its own function": {
        "start": """
            from up import lib

            def g():
                return g.word

            def register():
                g.word = "new"
                lib.g = g
            """
    },
    "another package": {
        "start": """
            import json
            from up import lib

            def g():
                return json.word

            def register():
                json.word = "new"
                lib.g = g
            """
    },
    "an argument of a message": {
        "start": """
            import os
            from up import lib

            def enable():
                os.environ["UP_MODE"] = "on"
                return True

            def register():
                print("mode", enable())
                original = lib.g

                def g():
                    return os.environ["UP_MODE"], original()

                lib.g = g
            """
    },
    "a method that is named like a message": {
        "start": """
            import os
            from up import lib

            class Modes:
                def info(self, mode):
                    os.environ["UP_MODE"] = mode

            modes = Modes()

            def register():
                modes.info("on")
                original = lib.g
                lib.g = lambda: (os.environ["UP_MODE"], original())
            """
    },
    "a state that two closures share": {
        "start": """
            from up import lib

            def register():
                def count():
                    count.number = getattr(count, "number", 0) + 1
                    return count.number

                lib.f = lambda a, b=0: ("f", count())
                lib.g = lambda: ("g", count())
            """
    },
    "a default that two closures share": {
        "start": """
            from up import lib

            def register():
                def count(numbers=[0]):
                    numbers[0] += 1
                    return numbers[0]

                lib.f = lambda a, b=0: ("f", count())
                lib.g = lambda: ("g", count())
            """
    },
    "one class by two paths": {
        "start": """
            from up import lib, user

            def register():
                def m(self, a, b=0):
                    return ("one", a)

                lib.C.m = m
                original = user.C.m

                def extra(self, a):
                    return ("two", original(self, a))

                lib.extra = extra(lib.C(), 1)
                lib.D.m = extra
            """
    },
    "the file of its module": {
        "start": """
            from pathlib import Path
            from up import lib

            def g():
                return Path(__file__).parent.name

            def register():
                lib.g = g
            """
    },
    "two functions of one name": {
        "start": """
            from up import lib

            def g():
                return "one"

            lib.g = g

            def again():
                def g():
                    return "two"

                g.__qualname__ = "g"
                setattr(lib, "".join("g"), g)

            again()

            def register():
                pass
            """
    },
    "a table that is changed once more": {
        "start": """
            from up import lib

            lib.TABLE = {"b": [1]}
            vars(lib)["TAB" + "LE"]["b"].append(2)

            def register():
                pass
            """
    },
    "what upstream makes of what was set": {
        "start": """
            from up import lib, user

            user.g = lambda: "new"
            lib.extra = user.use()

            def register():
                pass
            """
    },
}


@pytest.mark.processes
@pytest.mark.parametrize("form", IN_ROWS)
def test_rows_do_all_that_the_pile_does(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """A row stands for a call or an import only if that does nothing else; else it makes it."""
    report = observed(here, capsys, IN_ROWS[form])
    theirs = here.answer(f"{START}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{START}{PROBE}") == theirs
    assert here.answer(PROBE, PATCHKIT="0") != theirs
    assert "in no row" not in report["observed"]["depths"].values()


LISTED = {
    "a call that reads what was set": (
        "def derive():\n    return lib.C.size + 1\n\nlib.C.size = 5\nlib.D.size = derive()\n",
        "up.lib.C.size",
    ),
    "a default that reads it": (
        "lib.C.size = 5\n\ndef f(a, b=lib.C.size):\n    return b\n\nlib.f = f\n",
        "up.lib.C.size",
    ),
    "an instance that is kept": (
        "lib.C.size = 5\n\nclass Kept:\n    size = lib.C().size\n\n"
        "lib.g = lambda: Kept.size\n",
        "up.lib.C.size",
    ),
    "an answer of upstream that is kept": (
        "from up import user\nlib.C.m = lambda self, a, b=0: 'new'\nKEPT = user.use()\n"
        "lib.g = lambda: KEPT\n",
        "up.lib.C.m",
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize("form", LISTED)
def test_what_is_read_again_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The statement stays in the body, so that what reads it gets what the pile gets."""
    text, place = LISTED[form]
    text = f"from up import lib\n\n{text}\ndef register():\n    pass\n"
    report = observed(here, capsys, {"start": text})
    theirs = here.answer(f"{START}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{START}{PROBE}") == theirs
    assert [code["place"] for code in report["left"]] == [place]


@pytest.mark.processes
def test_the_rows_of_a_module_stay_where_a_call_sets_more(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the import of a module sets is not taken for what the call does."""
    modules = IN_ROWS["a module that the call's module imports"]
    report = observed(here, capsys, modules)
    assert sorted(kinds(report)["more"]) == [
        ("Replace", "up.lib:C.size"),
        ("Replace", "up.lib:g"),
    ]
    assert report["observed"]["depths"]["up.lib:g"] == "read"


@pytest.mark.processes
def test_the_report_is_the_same_each_time(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What items have in common is a number, and no address of this run."""
    text = dedent(
        """
        from up import lib

        def register():
            lib.TABLE.update(a=3)
            lib.C.size = 2
        """
    )
    report = observed(here, capsys, {"start": text})
    numbers = [change["same_as"] for change in report["observed"]["changes"]]
    assert sorted(numbers) == ["", "1['a']"]
