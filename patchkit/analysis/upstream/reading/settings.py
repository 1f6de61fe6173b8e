"""Reads pip's settings of where to look for packages, without pip.

To run `pip config` is slow, and pip may not be installed.
"""

import configparser
import contextlib
import importlib.machinery
import locale
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from patchkit.analysis.upstream.reading.masking import masked
from patchkit.core.plain_files import read_plain
from patchkit.errors import SettingsError, UpstreamError

T = TypeVar("T")

_SECTIONS = ("global", "install", "download")
"""Sections of pip's files that are read; later ones win.

Most people write `[global]`; `[install]` and `[download]` are the commands that look for packages.
"""
_USUAL = "pip/_internal/models/index.py"
"""The file of pip's source that has the URL of its default index."""
_PYPI = re.compile(r"^PyPI = PackageIndex\(\s*[\"'](https://[^\"']+)", re.MULTILINE)
_ETC = Path("/etc")
_MAX_FILE = 64 << 20
"""Bytes that one of pip's files may have."""
_MOST_RETRIES = 20
"""By then, a request has waited for half an hour between its tries."""
_SWITCH = dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True)
_SWITCH |= dict.fromkeys(("n", "no", "f", "false", "off", "0"), False)
"""The ways to write yes and no that pip accepts."""


class PipSettings(NamedTuple):
    """What pip's files and `PIP_*` variables say about finding and fetching packages.

    Args:
        indexes: URLs of simple indexes, the main one first.
        find_links: URLs and paths, of pages and directories with packages.
        trusted_hosts: Each `host` or `host:port` whose certificate is not checked.
        cert: A bundle or directory of certificate authorities; None for the system's.
        client_cert: The file of a certificate to show to servers.
        proxy: URL of the proxy for all requests; None for the proxies of the environment.
        timeout: Seconds to wait for a server; 0 for no limit.
        retries: How often to try again, at most 20 times.
    """

    indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout: float = 15.0
    retries: int = 5

    @classmethod
    def read(
        cls, environ: Mapping[str, str] | None = None, prefix: str | None = None
    ) -> "PipSettings":
        """Read pip's files, then its variables, which win.

        Args:
            environ: The environment variables; None for those of this process.
            prefix: The environment of Python whose `pip.conf` counts; None for the running one.

        Returns:
            The settings, with pip's defaults for those that are not set.

        Raises:
            SettingsError: A file or variable cannot be read.
            UpstreamError: No index is set, and pip's default index is not known.
        """
        env = os.environ if environ is None else environ
        options = _options_of_files(env, Path(prefix or sys.prefix))
        options |= _options_of_variables(env)
        values = _Values(options)
        indexes = _indexes(values)
        find_links = map(os.path.expanduser, values.urls("find-links"))
        # pip sends its requests with `requests`, which reads these variables.
        bundle = env.get("REQUESTS_CA_BUNDLE") or env.get("CURL_CA_BUNDLE")
        return cls(
            indexes=_without_repeats(indexes),
            find_links=_without_repeats(find_links),
            trusted_hosts=tuple((values.text("trusted-host") or "").split()),
            cert=values.text("cert") or bundle,
            client_cert=values.text("client-cert"),
            proxy=values.text("proxy"),
            timeout=values.number("timeout", "15"),
            retries=min(values.whole_number("retries", "5"), _MOST_RETRIES),
        )

    def trusts(self, host: str, port: int) -> bool:
        """Whether the certificate of a `host`, at any or this `port`, need not be checked."""
        trusted = {name.lower() for name in self.trusted_hosts}
        return host in trusted or f"{host}:{port}" in trusted

    def variables(self) -> dict[str, str]:
        """Return variables that name the same indexes and files in any working directory.

        A process that gets them looks for packages where this one does, also if paths of the
        settings are relative.
        """
        find_links = map(_absolute_url, self.find_links)
        indexes = [_absolute_url(index) for index in self.indexes]
        variables = {
            "PIP_FIND_LINKS": " ".join(find_links),
            "PIP_INDEX_URL": " ".join(indexes[:1]),
            "PIP_EXTRA_INDEX_URL": " ".join(indexes[1:]),
        }
        for name, file in (
            ("PIP_CERT", self.cert),
            ("PIP_CLIENT_CERT", self.client_cert),
        ):
            if file:
                variables[name] = str(Path(file).absolute())
        return {name: value for name, value in variables.items() if value}


def usual_index() -> str:
    """Return the URL of pip's default index, from pip's own source.

    Raises:
        UpstreamError: Neither pip nor `ensurepip` is installed.
    """
    for root in _roots_with_pip():
        # OSError: the folder has no such file. KeyError: the wheel has none.
        with contextlib.suppress(OSError, KeyError):
            source = root.joinpath(_USUAL).read_text(encoding="utf-8")
            match = _PYPI.search(source)
            if match:
                return f"{match[1].rstrip('/')}/simple"
    raise UpstreamError(
        "found no index-url in pip's settings and no pip to say which index is the usual one, "
        "expected one of them; set PIP_INDEX_URL"
    )


def _roots_with_pip() -> list[Path | zipfile.Path]:
    """List the folders and wheels that may have pip's source, installed or with `ensurepip`."""
    packages = []
    for name in ("pip", "ensurepip"):
        # Not `importlib.util.find_spec`: a finder of setuptools takes that for a start of pip.
        spec = importlib.machinery.PathFinder.find_spec(name)
        if spec and spec.origin:
            packages.append(Path(spec.origin).parent)
    roots: list[Path | zipfile.Path] = [package.parent for package in packages]
    for package in packages:
        # `ensurepip` contains a wheel of pip.
        roots.extend(
            zipfile.Path(wheel) for wheel in package.glob("_bundled/pip-*.whl")
        )
    return roots


def _indexes(values: "_Values") -> list[str]:
    """Return the URLs of the indexes that are set, or pip's default; [] with `no-index`."""
    if values.switch("no-index"):
        return []
    indexes = values.urls("index-url")[:1] or [usual_index()]  # one URL, not a list
    indexes += values.urls("extra-index-url")
    return [url.rstrip("/") for url in indexes]


def _absolute_url(location: str) -> str:
    """Return a URL as it is, and for a path a URL that does not depend on the working directory."""
    if urlsplit(location).scheme in ("http", "https", "file"):
        return location
    return Path(location).absolute().as_uri()


def _without_repeats(urls: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(urls))


class _Option(NamedTuple):
    """The value of an option as it is written, and the file or variable that sets it."""

    value: str
    origin: str


class _Values(NamedTuple):
    """Options by pip's long names such as `index-url`, to be read as text, URLs, numbers, switches.

    Each method returns the value of an option, or its default where it is not set.
    """

    options: Mapping[str, _Option]

    def text(self, name: str) -> str | None:
        """Return an option without surrounding blanks; None where it is not set, or empty."""
        option = self.options.get(name)
        if option is None:
            return None
        return option.value.strip() or None

    def urls(self, name: str) -> list[str]:
        return self._parsed(name, _urls, "URLs")

    def number(self, name: str, default: str) -> float:
        return self._parsed(name, _number, "a number of 0 or more", default)

    def whole_number(self, name: str, default: str) -> int:
        return self._parsed(name, _whole, "a whole number of 0 or more", default)

    def switch(self, name: str) -> bool:
        return self._parsed(name, _switch, "yes or no", default="no")

    def _parsed(
        self, name: str, parse: Callable[[str], T], expected: str, default: str = ""
    ) -> T:
        """Parse an option; say in the error where it is set, and what was expected.

        Args:
            name: The long name of the option.
            parse: Called with its text; raises ValueError or KeyError if that is malformed.
            expected: What it should be, for the error.
            default: The text to parse where the option is not set.
        """
        try:
            return parse(self.text(name) or default)
        except (ValueError, KeyError) as error:
            option = self.options[name]  # it is set, as the defaults are well-formed
            shown = masked(option.value)
            fault = f"{option.origin}: {name}: found {shown!r}, expected {expected}"
            raise SettingsError(fault) from error


def _urls(text: str) -> list[str]:
    """Split URLs; raise ValueError for one that is malformed."""
    urls = text.split()
    for number, url in enumerate(urls):
        _ = urlsplit(url).port  # reading the port checks the host and the port
        # `https://name:password with blanks@host`: the blanks have to be written as `%20`.
        if (
            number
            and "@" in url
            and "://" not in url
            and not url.startswith(("/", "."))
        ):
            raise ValueError
    return urls


def _switch(text: str) -> bool:
    return _SWITCH[text.lower()]


def _number(text: str) -> float:
    """Read a number; raise ValueError for one that is negative or no finite number."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def _whole(text: str) -> int:
    """Read a whole number; raise ValueError for one that is negative, or any other text."""
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _options_of_variables(env: Mapping[str, str]) -> dict[str, _Option]:
    """Read the variables `PIP_…`; an empty one does not count, as in pip."""
    options = {}
    for variable, value in env.items():
        if variable.startswith("PIP_") and value:
            options[_long_name(variable.removeprefix("PIP_"))] = _Option(
                value, variable
            )
    return options


def _options_of_files(env: Mapping[str, str], prefix: Path) -> dict[str, _Option]:
    """Read pip's files; `[install]` wins over `[global]`, even in a file that is read before."""
    sections: dict[str, dict[str, _Option]] = {section: {} for section in _SECTIONS}
    for file in _files(env, prefix):
        parser = _parsed_file(file)
        for section, options in sections.items():
            if parser.has_section(section):
                for name, value in parser.items(section):
                    options[_long_name(name)] = _Option(value or "", str(file))
    merged: dict[str, _Option] = {}
    for section in _SECTIONS:
        merged |= sections[section]
    return merged


def _long_name(written: str) -> str:
    """Return the name of an option as on pip's command line: `index-url` for `INDEX_URL`.

    pip's files may have `--index-url` as well, or `index_url`.
    """
    name = written.lower().replace("_", "-").lstrip("-")
    if name == "default-timeout":  # the option `--timeout` has both names
        return "timeout"
    return name


def _parsed_file(file: Path) -> configparser.RawConfigParser:
    """Parse one of pip's files; it is taken as empty where there is none."""
    parser = configparser.RawConfigParser()
    try:
        text = read_plain(file, _MAX_FILE).decode(locale.getpreferredencoding(False))
        parser.read_string(text, str(file))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return parser  # pip skips these too
    except (OSError, UpstreamError, UnicodeDecodeError, configparser.Error) as error:
        raise SettingsError(
            f"pip's configuration {file} cannot be read: {_fault_of(error)}"
        ) from error
    return parser


def _fault_of(error: Exception) -> str:
    """Say why a file cannot be read, without quoting it: it may have a password on any line."""
    if isinstance(error, configparser.MissingSectionHeaderError):
        return f"line {error.lineno} is in no section, expected one such as [global]"
    if isinstance(error, configparser.DuplicateSectionError):
        return f"line {error.lineno} begins a section that is there already"
    if isinstance(error, configparser.DuplicateOptionError):
        return f"line {error.lineno} sets an option that is set already"
    if isinstance(error, configparser.ParsingError):
        (line, _), *_ = error.errors
        return f"line {line} is no section and no option"
    return str(error)


def _files(env: Mapping[str, str], prefix: Path) -> Iterator[Path]:
    """List pip's files: the machine's, the user's, the environment's, and a variable's.

    The variable is `PIP_CONFIG_FILE`. As in pip, a file that it names is read in place of the
    user's; if it names the null device, no file is read.
    """
    named_file = env.get("PIP_CONFIG_FILE", "")
    if named_file == os.devnull:
        return
    yield from _files_of_machine(env)
    replaces_users = bool(named_file) and os.path.exists(named_file)  # noqa: PTH110 - a Path may raise
    if not replaces_users:
        yield from _files_of_user(env)
    yield prefix / "pip.conf"
    if named_file:
        yield Path(named_file)


def _files_of_machine(env: Mapping[str, str]) -> Iterator[Path]:
    """List the files that count for all users."""
    if sys.platform == "darwin":
        yield Path("/Library/Application Support/pip/pip.conf")
        return
    directories = env.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    for directory in directories.split(os.pathsep):
        if directory:
            yield Path(directory, "pip/pip.conf")
    yield _ETC / "pip.conf"


def _files_of_user(env: Mapping[str, str]) -> Iterator[Path]:
    """List the files in the user's home; the new one wins over the old `~/.pip/pip.conf`."""
    try:
        home = Path(env.get("HOME") or Path.home())
    except RuntimeError:  # as in a container, for a user who is in no `/etc/passwd`
        if env.get("XDG_CONFIG_HOME"):
            yield Path(env["XDG_CONFIG_HOME"], "pip", "pip.conf")
        return
    yield home / ".pip/pip.conf"
    support = home / "Library/Application Support/pip"
    if sys.platform == "darwin" and support.is_dir():
        yield support / "pip.conf"
    else:
        yield Path(env.get("XDG_CONFIG_HOME") or home / ".config", "pip", "pip.conf")
