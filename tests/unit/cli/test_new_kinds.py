"""The kinds of change that `patchkit new` writes, and the bodies of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.new_project import body, new, project, rows, world

__all__ = ["project", "world"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("up.mod:f", "Wrap"),
        ("up.mod:later", "Wrap"),
        ("up.mod:C.m", "Wrap"),
        ("up.mod:C.p", "Wrap"),
        ("up.mod:C", "Replace"),
        ("up.mod:LIMIT", "Replace"),
        ("up.mod:C.STEP", "Replace"),
        ("up.mod", "AfterImport"),
    ],
)
def test_the_kind_is_what_serves_the_target(target: str, kind: str) -> None:
    """Code is wrapped, classes and values are replaced, a module is waited for."""
    body(target)
    assert rows()["p"].startswith(f"({kind}(")


@pytest.mark.processes
@pytest.mark.parametrize(
    "target", ["up.mod:f", "up.mod:C", "up.mod:C.p", "up.mod:LIMIT"]
)
def test_what_is_decorated_starts_as_it_is(target: str) -> None:
    """The decorator gives its target back, until somebody writes what it becomes."""
    text = body(target, "--kind", "decorate")
    assert rows()["p"].startswith("(Decorate(")
    assert "(target: Any) -> Any:" in text
    assert "return target" in text


@pytest.mark.parametrize("target", ["up.mod:f", "up.mod:plain", "up.mod:C.m"])
def test_a_replaced_function_takes_all_that_upstreams_does(target: str) -> None:
    """A replacement takes any arguments, and its docstring has upstream's signature."""
    text = body(target, "--kind", "replace")
    assert "(*args: Any, **kwargs: Any) -> Any:" in text
    assert "Upstream's is called as (" in text


def test_the_body_of_a_coroutine_function_is_one() -> None:
    """The body that replaces an `async def` is an `async def`."""
    text = body("up.mod:later", "--kind", "replace")
    assert "async def later(*args: Any, **kwargs: Any) -> Any:" in text


def test_a_replaced_class_is_a_subclass() -> None:
    """The body that replaces a class imports upstream's, and derives from it."""
    text = body("up.mod:C")
    assert "from up.mod import C\n\n\nclass PatchedC(C):" in text


@pytest.mark.processes
def test_kinds_that_need_no_body_get_none() -> None:
    """`edit` and `add-field` write no body. An Edit starts with a line that occurs once, a field
    with a type and a default.
    """
    assert new("e", "--target", "up.mod:f", "--kind", "edit") == 0
    assert new("a", "--target", "up.mod:C.fresh", "--kind", "add-field") == 0
    assert not list(Path("my_pack").glob("patch_*"))
    changes = rows()
    assert "old='total = alpha + beta', new='total = alpha + beta'" in changes["e"]
    field = "target='up.mod:C', name='fresh', type=<class 'bool'>, default=False"
    assert field in changes["a"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("up.mod:fresh", "add"),
        ("up.mod:C.fresh", "add"),
        ("up.fresh", "provide"),
        ("up.mod", "before-import"),
    ],
)
def test_what_upstream_lacks_can_be_started(target: str, kind: str) -> None:
    """A new name, a new module, and a call before an import have a body."""
    body(target, "--kind", kind)
    assert rows()["p"].lower().startswith(f"({kind.replace('-', '')}(")


@pytest.mark.parametrize(
    ("target", "kind", "is_locked"),
    [("up.mod:fresh", "add", False), ("up.mod:f", "wrap", True)],
)
def test_only_what_a_lock_records_is_to_be_recorded(
    target: str, kind: str, is_locked: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an Add brings has no source upstream that could be reviewed."""
    assert new("p", "--target", target, "--kind", kind) == 0
    out = capsys.readouterr().out
    assert "patchkit check p" in out
    assert ("patchkit lock p" in out) == is_locked
