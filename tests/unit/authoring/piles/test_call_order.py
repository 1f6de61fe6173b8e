"""Calls of several functions of a pile that change one target: each has a row, in their order."""

from __future__ import annotations

from textwrap import dedent

import pytest

from authoring.piles.pile_of_up import (
    PROBE,
    PROJECT,
    ROWS,
    START,
    World,
    adopt,
    both,
    here,
    kinds,
    observed,
    world,
)

__all__ = ["here", "world"]

TWO_CALLS = {
    "closures around each other": """
        from up import lib

        KEPT = []

        def register():
            old = lib.g
            KEPT.append(old)
            lib.g = lambda: ("first", old())

        def more():
            old = lib.g
            KEPT.append(old)
            lib.g = lambda: ("second", old())
        """,
    "values": """
        from up import lib

        def register():
            lib.C.size = lib.C.size + 1

        def more():
            lib.C.size = lib.C.size * 10
        """,
    "an own object and a closure": """
        from up import lib

        def g():
            return "own"

        def register():
            lib.g = g

        def more():
            old = lib.g
            lib.g = lambda: ("second", old())
        """,
}
REGISTER = """
    from pile import early
    from up import lib

    def register():
        old = lib.g
        lib.g = lambda: ("register", old())
    """
CALLED_AT_IMPORT = {
    "the helper only defines": {
        "helper": """
            from up import lib

            def apply():
                old = lib.g
                lib.g = lambda: ("helper", old())
                lib.C.s = staticmethod(lambda a: ("helper", a))
            """,
        "early": "from pile.helper import apply\n\napply()\n",
    },
    "the pack has the text of both": {
        "helper": """
            from up import lib

            lib.C.size = 12

            def apply():
                old = lib.g
                lib.g = lambda: ("helper", old())
            """,
        "early": """
            from pile.helper import apply
            from up import lib

            lib.extra = "early"
            apply()
            """,
    },
}


@pytest.mark.processes
@pytest.mark.parametrize("form", TWO_CALLS)
def test_a_call_changes_what_another_has_set(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The last one alone would have had a row, and the first would have undone that."""
    words = ("--observe", "--call", "pile.start:register", "--call", "pile.start:more")
    report = adopt(here, capsys, {"start": dedent(TWO_CALLS[form])}, *words)
    assert list(kinds(report)) == ["pile-start-register", "pile-start-more"]
    start = f"{START}pile.start.more()\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{start}{PROBE}") == theirs
    assert here.answer(f"{ROWS}{PROBE}") == theirs


@pytest.mark.processes
@pytest.mark.parametrize("form", CALLED_AT_IMPORT)
def test_a_call_changes_what_an_import_has_had_called(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """What a module calls as it is imported comes first, and happens once, also in the pack."""
    report = observed(here, capsys, {**CALLED_AT_IMPORT[form], "start": REGISTER})
    assert report["left"] == []
    calls = list(kinds(report))[-2:]
    assert calls == ["pile-helper-apply", "pile-start-register"]
    theirs, ours = both(here)
    assert ours == theirs
    assert here.answer(f"{ROWS}{PROBE}") == theirs


@pytest.mark.processes
def test_a_call_that_has_no_row_is_listed_although_a_later_one_has(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails after it has set the target, so that nobody knows whether its caller goes on."""
    text = """
        from up import lib

        def register():
            lib.g = lambda: "first"
            raise ValueError("no device")

        def more():
            old = lib.g
            lib.g = lambda: ("second", old())
        """
    (here.folder / "pyproject.toml").write_text(PROJECT.format(dependencies=""))
    words = ("--observe", "--call", "pile.start:more")
    report = adopt(here, capsys, {"start": dedent(text)}, *words)
    reasons = [code["reason"] for code in report["left"]]
    assert any("no device" in reason or "register runs" in reason for reason in reasons)


@pytest.mark.processes
def test_a_call_imports_what_makes_another_call(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the function sets after that is its own, and no change of the other one."""
    modules = {
        **CALLED_AT_IMPORT["the helper only defines"],
        "start": """
            from up import lib

            def register():
                from pile import early

                old = lib.g
                lib.g = lambda: ("register", old())
            """,
    }
    report = observed(here, capsys, modules)
    assert list(kinds(report)) == ["pile-helper-apply", "pile-start-register"]
    theirs, ours = both(here)
    assert ours == theirs
    assert here.answer(f"{ROWS}{PROBE}") == theirs


@pytest.mark.processes
def test_a_call_whose_change_the_import_changes_again_is_listed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row of the call would come after that of the import."""
    modules = {
        "helper": """
            from up import lib

            def apply():
                old = lib.g
                setattr(lib, "".join("g"), lambda: ("helper", old()))
            """,
        "early": "from pile.helper import apply\n\napply()\n",
        "start": """
            from pile import early
            from up import lib

            old = lib.g

            def g():
                return ("read", old())

            lib.g = g

            def register():
                pass
            """,
    }
    report = observed(here, capsys, modules)
    (reason,) = {
        code["reason"] for code in report["left"] if code["place"] == "up.lib:g"
    }
    assert (
        "by pile.helper:apply, before the import of the pile has changed it again"
        in (reason)
    )
