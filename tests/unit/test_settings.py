from __future__ import annotations

import pytest

from patchkit.core.rows.selection import check_names
from patchkit.errors import SettingsError
from patchkit.settings import VARIABLES, Settings


def test_an_empty_environment_asks_for_nothing() -> None:
    """Without variables the contract's defaults hold."""
    assert Settings.read({}) == Settings()


def test_set_but_empty_is_not_set() -> None:
    """`NAME=` in a shell script means the same as no NAME."""
    assert Settings.read(dict.fromkeys(VARIABLES, "")) == Settings()


def test_every_variable_arrives() -> None:
    """Each variable of the contract lands in its setting."""
    settings = Settings.read(
        {
            "VLLM_VERSION": "0.11.0",
            "PATCHKIT": "1",
            "PATCHKIT_VERSIONS": "ray=2.35.0, torch_npu = 2.5.1",
            "PATCHKIT_PATCHES": "mine.patches,, theirs ",
            "PATCHKIT_DISABLE": "one,two",
            "PATCHKIT_ONLY": "three",
            "PATCHKIT_ON_FAILURE": "Warn",
            "PATCHKIT_ON_DRIFT": "skip",
            "PATCHKIT_JOURNAL": "/some/where",
            "PATCHKIT_LOG": "debug",
            "PATCHKIT_VERIFY": "0.5",
        }
    )
    assert settings == Settings(
        enabled=True,
        packs=("mine.patches", "theirs"),
        disabled=("one", "two"),
        only=("three",),
        on_failure="warn",
        on_drift="skip",
        versions=(("ray", "2.35.0"), ("torch-npu", "2.5.1")),
        vllm_version="0.11.0",
        journal="/some/where",
        log="debug",
        verify=0.5,
    )


def test_patchkit_0_switches_off() -> None:
    """`PATCHKIT=0` turns everything off."""
    assert not Settings.read({"PATCHKIT": "0"}).enabled


def test_the_process_environment_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an argument the process's own environment is read."""
    monkeypatch.setenv("PATCHKIT_ONLY", "this-one")
    assert Settings.read().only == ("this-one",)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PATCHKIT", "yes", "'0', '1'"),
        ("PATCHKIT_CPU_RAY", "yes", "'0', '1'"),
        ("PATCHKIT_ON_FAILURE", "ignore", "'stop', 'warn'"),
        ("PATCHKIT_ON_DRIFT", "die", "'warn', 'stop', 'skip'"),
        ("PATCHKIT_LOG", "loud", "'debug'"),
        ("PATCHKIT_VERIFY", "-1", "seconds, 0 for never"),
        ("PATCHKIT_VERIFY", "nan", "seconds, 0 for never"),
        ("PATCHKIT_VERIFY", ".", "seconds, 0 for never"),
        ("PATCHKIT_VERSIONS", "2.35.0", "dist=version"),
        ("PATCHKIT_VERSIONS", "ray=", "dist=version"),
        ("PATCHKIT_VERSIONS", "=2.35.0", "dist=version"),
    ],
)
def test_a_wrong_value_is_named(name: str, value: str, expected: str) -> None:
    """The error names the variable, what it holds and what it may hold."""
    with pytest.raises(SettingsError) as caught:
        Settings.read({name: value})
    assert str(caught.value).startswith(f"{name}: found {value!r}")
    assert expected in str(caught.value)


@pytest.mark.parametrize("text", ["vllm=1,vllm=2", "torch_npu=2.5.1,torch-npu=2.6"])
def test_two_versions_of_one_distribution_are_refused(text: str) -> None:
    """Two versions of one distribution are refused; the same version twice is accepted."""
    with pytest.raises(
        SettingsError, match=r"found (\S+)=\S+ and \1=\S+, expected one version"
    ):
        Settings.read({"PATCHKIT_VERSIONS": text})
    twice = Settings.read({"PATCHKIT_VERSIONS": "vllm=1,vllm=1"})
    assert dict(twice.versions) == {"vllm": "1"}


@pytest.mark.parametrize("variable", ["PATCHKIT_ONLY", "PATCHKIT_DISABLE"])
def test_a_name_that_no_patch_has_is_refused(variable: str) -> None:
    """A name that no patch has is refused with the name that is like it, or with all names."""
    settings = Settings.read({variable: "quick-scheduler,quik-loader"})
    known = ["quick-scheduler", "quick-loader", "x"]
    hint = "expected a patch's name; did you mean quick-loader?"
    with pytest.raises(SettingsError) as caught:
        check_names(settings, known)
    assert str(caught.value) == f"{variable}: found 'quik-loader', {hint}"
    with pytest.raises(SettingsError, match=r"a patch's name: x, y"):
        check_names(settings, ["y", "x"])
    check_names(Settings.read({}), [])
    check_names(Settings.read({variable: "x"}), known)
