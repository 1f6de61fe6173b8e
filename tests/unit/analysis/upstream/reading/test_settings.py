"""Pip's settings, as pip reads them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.odd_places import PLACES, ending_in
from support.programs import program

from patchkit.analysis.upstream.reading import settings
from patchkit.analysis.upstream.reading.settings import PipSettings, usual_index
from patchkit.analysis.upstream.reading.urls import without_secrets
from patchkit.errors import SettingsError, UpstreamError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the configuration of the machine that runs the tests out of them."""
    monkeypatch.setattr(settings, "_ETC", tmp_path / "etc")


def read(home: Path, **env: str) -> PipSettings:
    """The settings of a user with this home and these variables."""
    variables = {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "machine"), **env}
    return PipSettings.read(variables, prefix=str(home / "venv"))


def write(file: Path, *lines: str) -> Path:
    """Write a file, and make its folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines))
    return file


def places(home: Path) -> dict[str, Path]:
    """Every file of settings that pip knows, from the weakest to the strongest."""
    return {
        "machine": home / "machine/pip/pip.conf",
        "etc": home / "etc/pip.conf",
        "old": home / ".pip/pip.conf",
        "user": home / ".config/pip/pip.conf",
        "venv": home / "venv/pip.conf",
        "named": home / "named.conf",
    }


def test_without_settings_the_usual_index_is_used(tmp_path: Path) -> None:
    """Without settings, the only index is pip's own, and everything else is at its default."""
    pip_settings = read(tmp_path, PIP_CONFIG_FILE="/dev/null")
    assert pip_settings == PipSettings(indexes=(usual_index(),))
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
    completed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=env,
        check=True,
    )
    assert completed.stdout == "https://own.invalid/simple []\n", completed.stderr


def test_without_a_pip_there_is_no_usual_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pip and without settings, the error says to set PIP_INDEX_URL."""
    monkeypatch.setattr(settings, "_USUAL", "no/such.py")
    with pytest.raises(UpstreamError, match="set PIP_INDEX_URL"):
        read(tmp_path, PIP_CONFIG_FILE="/dev/null")


@pytest.mark.parametrize(("weak", "strong"), [
    ("machine", "etc"), ("etc", "old"), ("old", "user"), ("user", "venv"), ("venv", "named"),
    ("machine", "named"),
])  # fmt: skip
def test_the_nearer_file_wins(tmp_path: Path, weak: str, strong: str) -> None:
    """Of machine, user, environment and named file, the later one wins, option by option."""
    files = places(tmp_path)
    write(files[weak], "[global]", "proxy = weak", "timeout = 3")
    write(files[strong], "[global]", "proxy = strong")
    env = {"PIP_CONFIG_FILE": str(files["named"])} if strong == "named" else {}
    pip_settings = read(tmp_path, **env)
    assert (pip_settings.proxy, pip_settings.timeout) == ("strong", 3.0)


def test_a_named_file_replaces_the_users_own(tmp_path: Path) -> None:
    """Pip does not read the user's own file where `PIP_CONFIG_FILE` names one that exists."""
    files = places(tmp_path)
    write(files["user"], "[global]", "proxy = user")
    write(files["named"], "[global]", "retries = 1")
    assert read(tmp_path, PIP_CONFIG_FILE=str(files["named"])).proxy is None
    assert read(tmp_path, PIP_CONFIG_FILE=str(tmp_path / "missing")).proxy == "user"


def test_nobody_tries_for_ever(tmp_path: Path) -> None:
    """The number of retries has a limit, as each may wait for two minutes."""
    assert read(tmp_path, PIP_RETRIES="7").retries == 7
    assert read(tmp_path, PIP_RETRIES="99999999999").retries == 20


def test_dev_null_turns_files_off(tmp_path: Path) -> None:
    """`PIP_CONFIG_FILE=/dev/null` means no file at all."""
    write(places(tmp_path)["venv"], "[global]", "proxy = venv")
    assert read(tmp_path, PIP_CONFIG_FILE="/dev/null").proxy is None


def test_a_commands_section_beats_the_global_one_of_a_nearer_file(
    tmp_path: Path,
) -> None:
    """`[install]` of the user's file wins over `[global]` of the environment's, as in pip."""
    write(places(tmp_path)["user"], "[install]", "index-url = https://install/simple/")
    write(places(tmp_path)["venv"], "[global]", "index-url = https://global/simple")
    assert read(tmp_path).indexes == ("https://install/simple",)


def test_a_variable_beats_every_file_unless_empty(tmp_path: Path) -> None:
    """`PIP_INDEX_URL` wins over every file; if it is empty, it counts as unset."""
    write(places(tmp_path)["venv"], "[install]", "index-url = https://file/simple")
    with_variable = read(tmp_path, PIP_INDEX_URL="https://env/simple/")
    assert with_variable.indexes == ("https://env/simple",)
    with_empty_variable = read(tmp_path, PIP_INDEX_URL="")
    assert with_empty_variable.indexes == ("https://file/simple",)


def test_lists_are_split_at_whitespace(tmp_path: Path) -> None:
    """Indexes, links and hosts may stand on one line or on several; repeated ones count once."""
    write(
        places(tmp_path)["user"],
        "[global]",
        "index_url = https://a/simple",
        "extra-index-url =",
        "    https://b/simple",
        "    https://c/simple https://a/simple",
        "trusted-host = b c:8080",
    )
    pip_settings = read(tmp_path, PIP_FIND_LINKS="/wheels https://d/links")
    assert pip_settings.indexes == (
        "https://a/simple",
        "https://b/simple",
        "https://c/simple",
    )
    assert pip_settings.find_links == ("/wheels", "https://d/links")
    assert pip_settings.trusts("b", 443)
    assert pip_settings.trusts("c", 8080)
    assert not pip_settings.trusts("c", 443)


def test_no_index_leaves_the_links(tmp_path: Path) -> None:
    """Under `no-index` only find-links are looked at."""
    pip_settings = read(
        tmp_path, PIP_NO_INDEX="1", PIP_EXTRA_INDEX_URL="https://b", PIP_FIND_LINKS="/w"
    )
    assert (pip_settings.indexes, pip_settings.find_links) == ((), ("/w",))


@pytest.mark.parametrize("name", ["PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"])
def test_both_variables_of_the_timeout_count(tmp_path: Path, name: str) -> None:
    """The timeout may be set by either of the two variables that pip has for it."""
    assert read(tmp_path, **{name: "180"}).timeout == 180.0


def test_certificates_are_pips_and_then_those_of_requests(tmp_path: Path) -> None:
    """Pip's own setting wins over the variables that its HTTP library reads."""
    of_requests = read(tmp_path, REQUESTS_CA_BUNDLE="/r", CURL_CA_BUNDLE="/c")
    assert of_requests.cert == "/r"
    of_pip = read(
        tmp_path, REQUESTS_CA_BUNDLE="/r", PIP_CERT="/p", PIP_CLIENT_CERT="/me"
    )
    assert of_pip.cert == "/p"
    assert read(tmp_path, PIP_CLIENT_CERT="/me").client_cert == "/me"


@pytest.mark.parametrize(("name", "text"), [
    ("PIP_TIMEOUT", "soon"), ("PIP_RETRIES", "-1"), ("PIP_NO_INDEX", "perhaps"),
    ("PIP_TIMEOUT", "nan"), ("PIP_RETRIES", "1e300"), ("PIP_INDEX_URL", "http://["),
])  # fmt: skip
def test_an_invalid_value_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    """A value that pip would refuse is refused, with the place and the text."""
    with pytest.raises(SettingsError, match=f"{name}: .*{re.escape(text)}"):
        read(tmp_path, **{name: text})


def test_a_broken_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    """A file that cannot be parsed is an error of one line that names it."""
    file = write(places(tmp_path)["user"], "index-url = https://a")
    with pytest.raises(SettingsError) as caught:
        read(tmp_path)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["index-url = https://me:cret@a"], "line 1 is in no section"),
        (["[global]", "https//me cret@a"], "line 2 is no section and no option"),
        (["[cret]", "[cret]"], "line 2 begins a section that is there already"),
        (["[a]", "cret=1", "cret=2"], "line 3 sets an option that is set already"),
    ],
)
def test_a_broken_file_is_not_quoted(
    tmp_path: Path, lines: list[str], fault: str
) -> None:
    """Any of its lines may have a password."""
    write(places(tmp_path)["user"], *lines)
    with pytest.raises(SettingsError, match=f"cannot be read: {fault}") as caught:
        read(tmp_path)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("name", ["pipe", "zeros", "hole", "folder"])
def test_what_is_no_file_of_settings_is_an_error(tmp_path: Path, name: str) -> None:
    """A pipe is not waited for, and nothing is read that has no end."""
    file = places(tmp_path)["user"]
    file.parent.mkdir(parents=True)
    PLACES[name](file)
    with ending_in(100), pytest.raises(SettingsError, match="cannot be read: it "):
        read(tmp_path)


def test_links_may_begin_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~` is expanded in find-links, as by pip."""
    monkeypatch.setenv("HOME", str(tmp_path))
    pip_settings = read(tmp_path, PIP_FIND_LINKS="~/wheels")
    assert pip_settings.find_links == (str(tmp_path / "wheels"),)


def test_messages_hold_no_password(tmp_path: Path) -> None:
    """A URL, also a malformed one, is shown without its user and password."""
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, PIP_INDEX_URL="https://me:secret@host:port/simple")
    assert "https://…@host:port/simple" in str(caught.value)
    shown = without_secrets("https://me:secret@host:8/simple/?a#b")
    assert shown == "https://host:8/simple/?a#b"


def test_variables_name_the_same_places_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative paths become absolute, also in a folder with blanks; URLs stay as they are."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    pip_settings = read(
        tmp_path,
        PIP_CONFIG_FILE="/dev/null",
        PIP_INDEX_URL="https://a/simple mirror",
        PIP_FIND_LINKS="wheels https://b/page file:///there ~/home",
        PIP_EXTRA_INDEX_URL="https://c/simple mirror",
        PIP_CERT="ca.pem",
    )
    variables = pip_settings.variables()
    assert variables["PIP_FIND_LINKS"].split()[:3] == [
        f"{folder.as_uri()}/wheels",
        "https://b/page",
        "file:///there",
    ]
    assert variables["PIP_INDEX_URL"] == "https://a/simple"
    assert variables["PIP_CERT"] == str(folder / "ca.pem")
    again = read(tmp_path, PIP_CONFIG_FILE="/dev/null", **variables)
    assert again.variables() == variables
    mirror = f"{folder.as_uri()}/mirror"
    assert variables["PIP_EXTRA_INDEX_URL"] == f"https://c/simple {mirror}"
