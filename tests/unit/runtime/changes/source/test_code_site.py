from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.source.code_site import CodeSites
from runtime.changes.source.edits import Desk

UPSTREAM = """
    def f(x=1, *, y=2):
        a, b, c, d = 1, 2, 3, 4
        return [a, b, c, d]
"""
ORIGINAL = [1, 2, 3, 4]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.integers(0, 3), st.integers(10, 99)),
        st.tuples(st.just("undo"), st.integers(0, 9), st.just(0)),
    ),
    max_size=12,
)


@pytest.fixture
def desk() -> Desk:
    return Desk(UPSTREAM)


@given(STEPS)
def test_any_order_of_edits_and_undos(steps: list[tuple[str, int, int]]) -> None:
    """The function does what the edits that are left say, and has its very code in the end."""
    desk = Desk(UPSTREAM)
    function = desk.upstream.f
    code = function.__code__
    alive: dict[int, tuple[Any, int]] = {}
    for action, at, value in steps:
        if action == "edit" and at not in alive:
            if at < 3:
                prepared = desk.prepare("f", f"{'abcd'[at]},\n", f"{value},")
            else:
                prepared = desk.prepare("f", "d]", f"{value}]")
            prepared.apply()
            alive[at] = (prepared, value)
        elif action == "undo" and alive:
            prepared, _ = alive.pop(list(alive)[at % len(alive)])
            prepared.undo()
        expected = [alive[n][1] if n in alive else ORIGINAL[n] for n in range(4)]
        assert desk.upstream.f is function
        assert function() == expected
    for prepared, _ in alive.values():
        prepared.undo()
    assert function.__code__ is code


def test_edits_compose_in_the_order_of_their_rows(desk: Desk) -> None:
    """The later row's edit sees the text of the earlier row's, whichever was applied first."""
    later = desk.prepare("f", "[a,", "[-a,", rank=(2, 0))
    later.apply()
    earlier = desk.prepare("f", "a, b, c, d = 1", "a, b, c, d = 9", rank=(1, 0))
    earlier.apply()
    assert desk.upstream.f() == [-9, 2, 3, 4]
    later.undo()
    assert desk.upstream.f() == [9, 2, 3, 4]


def test_a_row_may_edit_what_it_has_edited(desk: Desk) -> None:
    """The second edit is prepared in the text of the first, before that is applied."""
    first = desk.prepare(
        "f", "return [a, b, c, d]", "return sum([a, b, c, d])", rank=(0, 0)
    )
    second = desk.prepare("f", "sum([a, b, c, d])", "sum([a, b])", rank=(0, 1))
    assert desk.upstream.f() == ORIGINAL
    first.apply()
    second.apply()
    assert desk.upstream.f() == 3


def test_edits_of_a_refused_row_are_not_seen_by_others(desk: Desk) -> None:
    """An edit that was prepared and never applied changes nothing for a later row."""
    _refused = desk.prepare("f", "[a, b, c, d]", "0", rank=(0, 0))
    with pytest.raises(TargetError):
        desk.prepare("f", "nowhere", "0", rank=(0, 1))
    desk.prepare("f", "[a, b, c, d]", "[a]", rank=(1, 0)).apply()
    assert desk.upstream.f() == [1]


def test_an_edit_that_others_build_on_stays_until_they_are_gone(desk: Desk) -> None:
    """Undo raises, and the edit stays; it goes when the last edit that builds on it is undone."""
    code = desk.upstream.f.__code__
    under = desk.edit("f", "[a, b, c, d]", "sum([a, b])")
    independent = desk.edit("f", "d = 1, 2", "d = 10, 20")
    over = desk.edit("f", "sum([a, b])", "sum([a])")
    with pytest.raises(
        UndoError, match=r"(?s)stays in effect .* not found.*sum\(\[a, b\]\)"
    ):
        under.undo()
    assert desk.upstream.f() == 10
    under.undo()
    independent.undo()
    assert desk.upstream.f() == 1
    over.undo()
    assert desk.upstream.f.__code__ is code


def test_an_edit_before_others_that_breaks_them_is_refused(desk: Desk) -> None:
    """An earlier row's edit that takes away what a later row's has matched is refused."""
    desk.prepare("f", "return [a, b, c, d]", "return [d]", rank=(2, 0)).apply()
    with pytest.raises(TargetError, match=r"(?s)not found.*return \[a, b, c, d\]"):
        desk.prepare("f", "[a, b, c, d]", "[a]", rank=(1, 0))
    assert desk.upstream.f() == [4]


def test_undo_is_idempotent_and_may_come_before_apply(desk: Desk) -> None:
    """What was not made is not taken back, and nothing twice."""
    code = desk.upstream.f.__code__
    prepared = desk.prepare("f", "d = 1", "d = 5")
    prepared.undo()
    prepared.apply()
    later = desk.edit("f", "2, 3", "6, 3")
    prepared.undo()
    prepared.undo()
    assert desk.upstream.f() == [1, 6, 3, 4]
    later.undo()
    assert desk.upstream.f.__code__ is code


@pytest.mark.parametrize("attribute", ["__code__", "__defaults__", "__kwdefaults__"])
def test_an_interrupted_apply_is_taken_back(desk: Desk, attribute: str) -> None:
    """Undo restores code and defaults, wherever the apply was interrupted."""
    function = desk.upstream.f
    names = ("__code__", "__defaults__", "__kwdefaults__")
    before = [getattr(function, name) for name in names]
    prepared = desk.prepare("f", "x=1, *, y=2", "x=5, *, y=6")

    class Interrupted:
        def __getattr__(self, name: str) -> Any:
            return getattr(function, name)

        def __setattr__(self, name: str, value: Any) -> None:
            if name == attribute:
                raise KeyboardInterrupt
            setattr(function, name, value)

    stand_in: Any = Interrupted()
    prepared.code.function = stand_in
    with pytest.raises(KeyboardInterrupt):
        prepared.apply()
    prepared.code.function = function
    prepared.undo()
    assert all(
        getattr(function, name) is value
        for name, value in zip(names, before, strict=True)
    )


def test_code_that_somebody_else_has_set_is_left(desk: Desk) -> None:
    """Undo is an error, another edit is refused, and the code stays."""
    prepared = desk.edit("f", "d = 1", "d = 5")
    desk.upstream.f.__code__ = theirs = (lambda x=1, *, y=2: "theirs").__code__
    with pytest.raises(TargetError, match="was changed by somebody else"):
        desk.prepare("f", "2, 3", "6, 3")
    with pytest.raises(
        UndoError, match="changed by somebody else; it is left as it is"
    ):
        prepared.undo()
    prepared.undo()
    assert desk.upstream.f.__code__ is theirs


def test_a_function_that_is_no_longer_edited_is_not_kept_alive(desk: Desk) -> None:
    """After undo, neither the function nor its site is kept alive."""
    sites = desk.sites.noted(CodeSites)
    prepared = desk.edit("f", "d = 1", "d = 5")
    assert sites.at(desk.upstream.f) is prepared.code
    prepared.undo()
    site_reference = weakref.ref(prepared.code)
    function_reference = weakref.ref(desk.upstream.f)
    del prepared, desk.upstream.f
    gc.collect()
    assert site_reference() is None
    assert function_reference() is None


def test_edits_that_were_prepared_side_by_side(desk: Desk) -> None:
    """Two edits prepared before either is applied both act, and come off alone."""
    first = desk.prepare("f", "[a", "[7")
    second = desk.prepare("f", "d]", "8]")
    second.apply()
    assert desk.upstream.f() == [1, 2, 3, 8]
    first.apply()
    assert desk.upstream.f() == [7, 2, 3, 8]
    second.undo()
    assert desk.upstream.f() == [7, 2, 3, 4]


def test_code_that_somebody_else_has_set_is_noticed(desk: Desk) -> None:
    """`is_intact` tells whether the function has the code that the last edit or undo has left."""
    prepared = desk.edit("f", "d]", "8]")
    own = desk.upstream.f.__code__
    assert prepared.code.is_intact()
    desk.upstream.f.__code__ = (lambda x=1, *, y=2: "theirs").__code__
    assert not prepared.code.is_intact()
    desk.upstream.f.__code__ = own
    assert prepared.code.is_intact()
    prepared.undo()
    assert prepared.code.is_intact()
    desk.upstream.f.__code__ = own
    assert not prepared.code.is_intact()


def test_an_edit_that_is_prepared_a_second_time(desk: Desk) -> None:
    """The second preparation takes the place of the first, which was never applied."""
    first = desk.prepare("f", "[a", "[7", rank=(0, 0))
    second = desk.prepare("f", "[a", "[7", rank=(0, 0))
    assert first.code is second.code
    second.apply()
    assert desk.upstream.f() == [7, 2, 3, 4]
