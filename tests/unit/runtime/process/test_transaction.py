from __future__ import annotations

from typing import Any

import pytest
from support import packages
from support.packages import module_of
from support.samples import row

from patchkit import AfterImport, Replace, Wrap
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import unwind
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.eligibility import reason_to_skip
from patchkit.runtime.process.making import apply_changes
from patchkit.runtime.process.patch_state import Transaction

world = packages.world

UPSTREAM = """
def one(): return 1
def two(): return 2
NUMBER = 3
"""
BODY = """
def new(): return 'new'
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
def fail(): raise RuntimeError('no')
def interrupted(): raise KeyboardInterrupt
"""


def applied(*changes: Any) -> tuple[Any, Transaction]:
    """Return an upstream module, and the transaction that has made changes to it."""
    module = module_of(UPSTREAM)
    made = Transaction("a-patch")
    make(made, module, *changes)
    return module, made


def make(made: Transaction, module: Any, *changes: Any) -> None:
    """Make changes to a module within a transaction."""
    body = module_of(BODY, "body")
    apply_changes(made, list(enumerate(changes)), module, body, Sites())


def test_all_changes_are_made() -> None:
    """Every change has an undo and a site, which says where copies are repointed."""
    module, made = applied(
        Replace("upstream:one", by="new"), Wrap("upstream:two", by="by", rebind=False)
    )
    assert (module.one(), module.two()) == ("new", ("by", 2))
    assert len(made.undos) == 2
    scopes = {target: site.rebind for target, site in made.sites}
    assert scopes == {"upstream:one": {"upstream", "__main__"}, "upstream:two": set()}
    assert made.take_back() == []
    assert made.sites == []
    assert (module.one(), module.two()) == (1, 2)


def test_a_target_that_is_not_there_changes_nothing() -> None:
    """A missing target raises before the first change is made."""
    module = module_of(UPSTREAM)
    names_before = set(vars(module_of(UPSTREAM)))
    changes: Any = [
        Replace("upstream:one", by="new"),
        Replace("upstream:missing", by="new"),
    ]
    made = Transaction()
    original = module.one
    with pytest.raises(TargetError):
        make(made, module, *changes)
    assert module.one is original
    assert set(vars(module)) == names_before
    assert made.undos == []


@pytest.mark.parametrize(
    ("call", "error"), [("fail", RuntimeError), ("interrupted", KeyboardInterrupt)]
)
def test_an_error_on_the_way_takes_back_what_was_made(
    call: str, error: type[BaseException]
) -> None:
    """An error, also one that is no Exception, undoes the changes that were made before it."""
    module = module_of(UPSTREAM)
    originals = (module.one, module.two)
    changes: Any = [
        Replace("upstream:one", by="new"),
        Wrap("upstream:two", by="by"),
        AfterImport("upstream", call=call),
    ]
    made = Transaction()
    with pytest.raises(error):
        make(made, module, *changes)
    assert (module.one, module.two) == originals
    assert made.undos == []


def test_two_changes_of_one_target() -> None:
    """A function that a patch wraps and replaces is the replacement within the wrapper."""
    module, made = applied(
        Wrap("upstream:one", by="by"), Replace("upstream:one", by="new")
    )
    assert module.one() == ("by", "new")
    made.take_back()
    assert module.one() == 1


def test_unwind_runs_all_in_reverse_and_once() -> None:
    """`unwind` runs all undos in reverse, also after one that fails, and runs them only once."""
    order: list[int] = []

    def failing() -> None:
        order.append(2)
        raise ValueError("two")

    undos = [lambda: order.append(1), failing, lambda: order.append(3)]
    (error,) = unwind(undos)
    assert str(error) == "two"
    assert order == [3, 2, 1]
    assert unwind(undos) == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [("return True", None), ("return 'no such device'", "no such device")],
)
def test_when_answers_true_or_a_reason(source: str, reason: str | None) -> None:
    """A `when` that returns True gives no reason to skip, and a text is that reason."""
    body = module_of(f"def here(): {source}", "body")
    assert reason_to_skip(row(when="here").patch, body) == reason
    assert reason_to_skip(row().patch, body) is None


@pytest.mark.parametrize("answer", ["None", "False", "''", "1", "[]"])
def test_when_answers_nothing_else(answer: str) -> None:
    """Any other answer of a `when` raises an error that says what is expected."""
    body = module_of(f"def here(): return {answer}", "body")
    with pytest.raises(TargetError, match="expected True or the reason to skip"):
        reason_to_skip(row(when="here").patch, body)


def test_when_must_be_there() -> None:
    """A `when` that the body does not have raises an error that names it."""
    with pytest.raises(TargetError, match="body body has no function 'here'"):
        reason_to_skip(row(when="here").patch, module_of("", "body"))
