from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.samples import row

from patchkit import AfterImport, Replace
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.errors import VersionError
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping


def selection(
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    **versions: str,
) -> Selection:
    """A selection where nothing is installed but the given versions."""
    return Selection(
        settings or Settings(), Versions(versions, path=[]), environ=environ or {}
    )


def reason(chosen: Selection, **fields: Any) -> str | None:
    """Why a good row with these fields is not for here."""
    return chosen.reason_to_skip(row(**fields))


def test_a_row_whose_requirements_hold_is_for_here() -> None:
    """A row whose requirements hold has no reason to be skipped."""
    assert reason(selection(vllm="0.12.0")) is None


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        (("vllm>=0.13",), "vllm 0.12.0 is outside >=0.13"),
        (("vllm>=0.11,<0.12",), "vllm 0.12.0 is outside >=0.11,<0.12"),
        (("vllm", "torch_npu"), "torch_npu is not installed"),
    ],
)
def test_a_requirement_that_does_not_hold_is_the_reason(
    requires: tuple[str, ...], expected: str
) -> None:
    """All requirements must hold; the first that does not is named."""
    assert reason(selection(vllm="0.12.0"), requires=requires) == expected


def test_disabled_and_only() -> None:
    """PATCHKIT_DISABLE takes a row out, PATCHKIT_ONLY all others."""
    disabled = selection(Settings(disabled=("a-patch",)), vllm="0.12.0")
    only = selection(Settings(only=("other",)), vllm="0.12.0")
    this = selection(Settings(only=("a-patch",)), vllm="0.12.0")
    assert reason(disabled) == "disabled by PATCHKIT_DISABLE"
    assert reason(only) == "not named in PATCHKIT_ONLY"
    assert reason(this) is None


@pytest.mark.parametrize(
    ("env", "environ", "expected"),
    [
        ("FLAG", {}, "FLAG is not set"),
        ("FLAG", {"FLAG": ""}, None),
        ("FLAG=1", {}, "FLAG is not set"),
        ("FLAG=1", {"FLAG": "0"}, "FLAG is '0', not '1'"),
        ("FLAG=1", {"FLAG": "1"}, None),
        ("FLAG=a=b", {"FLAG": "a=b"}, None),
        ("FLAG=", {"FLAG": "1"}, "FLAG is '1', not ''"),
    ],
)
def test_a_row_with_env_needs_that_variable(
    env: str, environ: dict[str, str], expected: str | None
) -> None:
    """`NAME` must be set, `NAME=value` must hold that value."""
    assert reason(selection(environ=environ, vllm="0.12.0"), env=env) == expected


def test_what_is_switched_off_is_said_before_versions_are_asked() -> None:
    """A disabled row needs no version, so that a version that says nothing does not matter."""
    chosen = selection(Settings(disabled=("a-patch",)), vllm="dev")
    assert reason(chosen) == "disabled by PATCHKIT_DISABLE"


def test_a_version_that_names_no_release_is_an_error() -> None:
    """A version that names no release raises a VersionError; nothing is guessed."""
    with pytest.raises(VersionError, match="dev"):
        reason(selection(vllm="dev"))


_OLD = Replace("old:f", by="f", requires=("vllm<0.12",))
_NEW = Replace("new:f", by="f", requires=("vllm>=0.12",))
_RAY = AfterImport("ray", call="f", requires=("ray",))


def test_one_change_for_here_is_enough() -> None:
    """A row is selected if one of its changes applies, as where a target has moved."""
    chosen = selection(vllm="0.12.0")
    assert reason(chosen, changes=(_OLD, _NEW)) is None
    moved = row(changes=(_OLD, _NEW))
    applies = [chosen.applies(change, moved) for change in (_OLD, _NEW, _RAY)]
    assert applies == [False, True, False]


def test_no_change_for_here_is_a_reason() -> None:
    """A row of which nothing is left is skipped, with the first change's reason."""
    expected = "no change applies here: vllm 0.12.0 is outside <0.12"
    assert reason(selection(vllm="0.12.0"), changes=(_OLD, _RAY)) == expected


def test_the_process_environment_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an argument the process's own variables decide."""
    chosen = Selection(Settings(), Versions({"vllm": "0.12.0"}, path=[]))
    monkeypatch.setenv("SOME_FLAG", "1")
    assert reason(chosen, env="SOME_FLAG") is None
    monkeypatch.delenv("SOME_FLAG")
    assert reason(chosen, env="SOME_FLAG") == "SOME_FLAG is not set"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"requires": ("vllm>=9", "torch_npu>=2")}, "torch_npu is not installed"),
        ({"requires": ("vllm>=9",)}, None),
        ({"requires": ("torch_npu; python_version > '3'",)}, None),
        ({"env": "NEVER_SET", "requires": ("torch_npu",)}, "NEVER_SET is not set"),
    ],
)
def test_what_is_absent_is_told_without_versions(
    fields: Any, expected: str | None
) -> None:
    """Variables, and names of which nothing is installed, are reasons that need no versions."""
    assert selection(vllm="0.12.0").absent_here(row(**fields)) == expected
