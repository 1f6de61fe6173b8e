"""Pip's settings, as pip reads them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.programs import program

from patchkit.analysis.upstream.reading import settings
from patchkit.analysis.upstream.reading.replies import without_secrets
from patchkit.analysis.upstream.reading.settings import PipSettings, usual_index
from patchkit.errors import SettingsError, UpstreamError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the configuration of the machine that runs the tests out of them."""
    monkeypatch.setattr(settings, "_ETC", tmp_path / "etc")


def read(home: Path, **env: str) -> PipSettings:
    variables = {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "machine"), **env}
    return PipSettings.read(variables, prefix=str(home / "venv"))


def write(file: Path, *lines: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines))
    return file


def places(home: Path) -> dict[str, Path]:
    return {
        "machine": home / "machine/pip/pip.conf",
        "etc": home / "etc/pip.conf",
        "old": home / ".pip/pip.conf",
        "user": home / ".config/pip/pip.conf",
        "venv": home / "venv/pip.conf",
        "named": home / "named.conf",
    }


def test_without_any_the_usual_index_is_asked(tmp_path: Path) -> None:
    """Nobody has set anything: pip's own index, and patience as pip has it."""
    found = read(tmp_path, PIP_CONFIG_FILE="/dev/null")
    assert found == PipSettings(indexes=(usual_index(),))
    assert usual_index().startswith("https://")


@pytest.mark.processes
def test_pip_is_read_and_not_imported(tmp_path: Path) -> None:
    """An installed pip says which index is the usual one, in its source; none of it runs.

    No finder is asked for it: setuptools' own gives up its distutils where pip is looked for.
    """
    text = "raise SystemExit('imported')\nPyPI = PackageIndex(\n    'https://own.invalid/', x=1)\n"
    write(tmp_path / "pip/_internal/models/index.py", text)
    write(tmp_path / "pip/__init__.py", "raise SystemExit('imported')")
    code = program(__file__, "usual_index")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=env,
        check=True,
    )
    assert done.stdout == "https://own.invalid/simple []\n", done.stderr


def test_without_a_pip_there_is_no_usual_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to set."""
    monkeypatch.setattr(settings, "_USUAL", "no/such.py")
    with pytest.raises(UpstreamError, match="set PIP_INDEX_URL"):
        read(tmp_path, PIP_CONFIG_FILE="/dev/null")


@pytest.mark.parametrize(("weak", "strong"), [
    ("machine", "etc"), ("etc", "old"), ("old", "user"), ("user", "venv"), ("venv", "named"),
    ("machine", "named"),
])  # fmt: skip
def test_the_nearer_file_wins(tmp_path: Path, weak: str, strong: str) -> None:
    """Machine, user, environment, the file that is named: later ones win."""
    files = places(tmp_path)
    write(files[weak], "[global]", "proxy = weak", "timeout = 3")
    write(files[strong], "[global]", "proxy = strong")
    env = {"PIP_CONFIG_FILE": str(files["named"])} if strong == "named" else {}
    found = read(tmp_path, **env)
    assert (found.proxy, found.timeout) == ("strong", 3.0)


def test_a_named_file_stands_for_the_users(tmp_path: Path) -> None:
    """Pip does not read the user's own file where `PIP_CONFIG_FILE` names one that exists."""
    files = places(tmp_path)
    write(files["user"], "[global]", "proxy = user")
    write(files["named"], "[global]", "retries = 1")
    assert read(tmp_path, PIP_CONFIG_FILE=str(files["named"])).proxy is None
    assert read(tmp_path, PIP_CONFIG_FILE=str(tmp_path / "missing")).proxy == "user"


def test_dev_null_turns_files_off(tmp_path: Path) -> None:
    """`PIP_CONFIG_FILE=/dev/null` means no file at all."""
    write(places(tmp_path)["venv"], "[global]", "proxy = venv")
    assert read(tmp_path, PIP_CONFIG_FILE="/dev/null").proxy is None


def test_a_commands_section_beats_the_global_one_of_a_nearer_file(
    tmp_path: Path,
) -> None:
    """Sections are ordered before files, as in pip."""
    write(places(tmp_path)["user"], "[install]", "index-url = https://install/simple/")
    write(places(tmp_path)["venv"], "[global]", "index-url = https://global/simple")
    assert read(tmp_path).indexes == ("https://install/simple",)


def test_a_variable_beats_every_file_unless_empty(tmp_path: Path) -> None:
    """`PIP_INDEX_URL` wins; an empty variable is none."""
    write(places(tmp_path)["venv"], "[install]", "index-url = https://file/simple")
    assert read(tmp_path, PIP_INDEX_URL="https://env/simple/").indexes == (
        "https://env/simple",
    )
    assert read(tmp_path, PIP_INDEX_URL="").indexes == ("https://file/simple",)


def test_lists_are_split_where_there_is_space(tmp_path: Path) -> None:
    """Several indexes, links and hosts, on one line or on several; each once."""
    write(
        places(tmp_path)["user"],
        "[global]",
        "index_url = https://a/simple",
        "extra-index-url =",
        "    https://b/simple",
        "    https://c/simple https://a/simple",
        "trusted-host = b c:8080",
    )
    found = read(tmp_path, PIP_FIND_LINKS="/wheels https://d/links")
    assert found.indexes == ("https://a/simple", "https://b/simple", "https://c/simple")
    assert found.find_links == ("/wheels", "https://d/links")
    assert found.trusts("b", 443)
    assert found.trusts("c", 8080)
    assert not found.trusts("c", 443)


def test_no_index_leaves_the_links(tmp_path: Path) -> None:
    """Under `no-index` only find-links are looked at."""
    found = read(
        tmp_path, PIP_NO_INDEX="1", PIP_EXTRA_INDEX_URL="https://b", PIP_FIND_LINKS="/w"
    )
    assert (found.indexes, found.find_links) == ((), ("/w",))


@pytest.mark.parametrize("name", ["PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"])
def test_both_names_of_the_timeout_count(tmp_path: Path, name: str) -> None:
    """Pip's option has two names."""
    assert read(tmp_path, **{name: "180"}).timeout == 180.0


def test_certificates_are_pips_and_then_those_of_requests(tmp_path: Path) -> None:
    """Pip's own setting wins over the variables that its HTTP library reads."""
    assert read(tmp_path, REQUESTS_CA_BUNDLE="/r", CURL_CA_BUNDLE="/c").cert == "/r"
    assert (
        read(
            tmp_path, REQUESTS_CA_BUNDLE="/r", PIP_CERT="/p", PIP_CLIENT_CERT="/me"
        ).cert
        == "/p"
    )
    assert read(tmp_path, PIP_CLIENT_CERT="/me").client_cert == "/me"


@pytest.mark.parametrize(("name", "text"), [
    ("PIP_TIMEOUT", "soon"), ("PIP_RETRIES", "-1"), ("PIP_NO_INDEX", "perhaps"),
    ("PIP_TIMEOUT", "nan"), ("PIP_INDEX_URL", "http://["),
])  # fmt: skip
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, text: str) -> None:
    """A value that pip would refuse is refused, with the place and the text."""
    with pytest.raises(SettingsError, match=f"{name}: .*{re.escape(text)}"):
        read(tmp_path, **{name: text})


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """One line, which says which file."""
    file = write(places(tmp_path)["user"], "index-url = https://a")
    with pytest.raises(SettingsError) as caught:
        read(tmp_path)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_links_may_begin_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~` is expanded in find-links, as by pip."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read(tmp_path, PIP_FIND_LINKS="~/wheels").find_links == (
        str(tmp_path / "wheels"),
    )


def test_messages_hold_no_password(tmp_path: Path) -> None:
    """A URL is shown without the user's part; so is one that is none."""
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, PIP_INDEX_URL="https://me:secret@host:port/simple")
    assert "https://…@host:port/simple" in str(caught.value)
    assert (
        without_secrets("https://me:secret@host:8/simple/?a#b")
        == "https://host:8/simple/?a#b"
    )
