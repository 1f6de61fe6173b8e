"""Reads pip's settings of where to look for packages, without pip.

pip itself is slow to ask, and may be missing.
"""

import configparser
import contextlib
import importlib.machinery
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from patchkit.errors import SettingsError, UpstreamError

T = TypeVar("T")

_SECTIONS = ("global", "install", "download")
"""Sections of pip's files that are read; later ones win.

Most people write `[global]`; `[install]` and `[download]` are the commands that look for packages.
"""
_USUAL = "pip/_internal/models/index.py"
_PYPI = re.compile(r"^PyPI = PackageIndex\(\s*[\"'](https://[^\"']+)", re.MULTILINE)
_ETC = Path("/etc")
_SWITCH = dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True)
_SWITCH |= dict.fromkeys(("n", "no", "f", "false", "off", "0"), False)


class PipSettings(NamedTuple):
    """What pip's files and `PIP_*` variables say about finding and fetching packages.

    Args:
        indexes: URLs of simple indexes, the main one first.
        find_links: URLs and paths, of pages and directories with packages.
        trusted_hosts: Each `host` or `host:port` whose certificate is not checked.
        cert: A bundle or directory of certificate authorities; None for the system's.
        client_cert: The file of a certificate to show to servers.
        proxy: URL of the proxy for everything; None for those of the environment.
        timeout: Seconds to wait for a server; 0 for without end.
        retries: How often to try again.
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
            The settings, with pip's defaults for what nobody has set.

        Raises:
            SettingsError: A file or variable cannot be read.
            UpstreamError: Nothing says which index is the usual one.
        """
        env = os.environ if environ is None else environ
        options = _options_of_files(env, Path(prefix or sys.prefix))
        options |= _options_of_variables(env)
        values = _Values(options)
        indexes = _indexes(values)
        find_links = map(os.path.expanduser, values.urls("find-links"))
        bundle = env.get("REQUESTS_CA_BUNDLE") or env.get("CURL_CA_BUNDLE")
        return cls(
            indexes=_without_repeats(indexes),
            find_links=_without_repeats(find_links),
            trusted_hosts=tuple((values.text("trusted-host") or "").split()),
            cert=values.text("cert") or bundle,
            client_cert=values.text("client-cert"),
            proxy=values.text("proxy"),
            timeout=values.number("timeout", "15"),
            retries=int(values.number("retries", "5")),
        )

    def trusts(self, host: str, port: int) -> bool:
        """Whether the user vouches for a `host`, at any or this `port`, without certificate."""
        trusted = {name.lower() for name in self.trusted_hosts}
        return host in trusted or f"{host}:{port}" in trusted


def usual_index() -> str:
    """Return the URL of the index that pip's own source names as the usual one.

    Raises:
        UpstreamError: Neither pip nor `ensurepip` is installed.
    """
    for root in _roots_with_pip():
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
    """List what may hold pip's source: the folder it is installed in, and wheels of it."""
    packages = []
    for name in ("pip", "ensurepip"):
        # Only this finder: that of setuptools takes a question for pip as pip's start.
        spec = importlib.machinery.PathFinder.find_spec(name)
        if spec and spec.origin:
            packages.append(Path(spec.origin).parent)
    roots: list[Path | zipfile.Path] = [package.parent for package in packages]
    for package in packages:
        # What Python brings along for `ensurepip` is a wheel.
        roots.extend(
            zipfile.Path(wheel) for wheel in package.glob("_bundled/pip-*.whl")
        )
    return roots


def _indexes(values: "_Values") -> list[str]:
    if values.switch("no-index"):
        return []
    indexes = values.urls("index-url")[:1] or [usual_index()]
    indexes += values.urls("extra-index-url")
    return [url.rstrip("/") for url in indexes]


def _without_repeats(urls: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(urls))


class _Option(NamedTuple):
    """The value of an option as it is written, and the file or variable that says so."""

    value: str
    origin: str


class _Values(NamedTuple):
    """Options by pip's long names."""

    options: Mapping[str, _Option]

    def text(self, name: str) -> str | None:
        option = self.options.get(name)
        if option is None:
            return None
        return option.value.strip() or None

    def urls(self, name: str) -> list[str]:
        return self._parsed(name, "", _urls, "URLs")

    def number(self, name: str, default: str) -> float:
        return self._parsed(name, default, _number, "a number of 0 or more")

    def switch(self, name: str) -> bool:
        return self._parsed(name, "no", lambda text: _SWITCH[text.lower()], "yes or no")

    def _parsed(
        self, name: str, default: str, parse: Callable[[str], T], expected: str
    ) -> T:
        try:
            return parse(self.text(name) or default)
        except (ValueError, KeyError) as error:
            option = self.options[name]
            # A password is nobody else's.
            shown = re.sub(r"//[^/\s]*@", "//…@", option.value)
            fault = f"{option.origin}: {name}: found {shown!r}, expected {expected}"
            raise SettingsError(fault) from error


def _urls(text: str) -> list[str]:
    urls = text.split()
    for url in urls:
        _ = urlsplit(url).port  # raises where the URL is none
    return urls


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def _options_of_variables(env: Mapping[str, str]) -> dict[str, _Option]:
    """Read the variables `PIP_…`; an empty one is none, as pip has it."""
    options = {}
    for variable, value in env.items():
        if variable.startswith("PIP_") and value:
            options[_long_name(variable.removeprefix("PIP_"))] = _Option(
                value, variable
            )
    return options


def _options_of_files(env: Mapping[str, str], prefix: Path) -> dict[str, _Option]:
    """Read pip's files; a section beats the ones before it, whichever files they are in."""
    sections: dict[str, dict[str, _Option]] = {section: {} for section in _SECTIONS}
    for file in _files(env, prefix):
        parser = _parsed(file)
        for section, options in sections.items():
            if parser.has_section(section):
                for name, value in parser.items(section):
                    options[_long_name(name)] = _Option(value or "", str(file))
    merged: dict[str, _Option] = {}
    for section in _SECTIONS:
        merged |= sections[section]
    return merged


def _long_name(written: str) -> str:
    name = written.lower().replace("_", "-").lstrip("-")
    if name == "default-timeout":
        return "timeout"
    return name


def _parsed(file: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text(), str(file))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return parser  # pip skips these too
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(
            f"pip's configuration {file} cannot be read: {reason}"
        ) from error
    return parser


def _files(env: Mapping[str, str], prefix: Path) -> Iterator[Path]:
    """List pip's files: the machine's, the user's, the environment's, and a variable's."""
    named = env.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    yield from _files_of_machine(env)
    if not (named and Path(named).exists()):
        yield from _files_of_user(env)
    yield prefix / "pip.conf"
    if named:
        yield Path(named)


def _files_of_machine(env: Mapping[str, str]) -> Iterator[Path]:
    if sys.platform == "darwin":
        yield Path("/Library/Application Support/pip/pip.conf")
        return
    directories = env.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    for directory in directories.split(os.pathsep):
        if directory:
            yield Path(directory, "pip/pip.conf")
    yield _ETC / "pip.conf"


def _files_of_user(env: Mapping[str, str]) -> Iterator[Path]:
    home = Path(env.get("HOME") or Path.home())
    yield home / ".pip/pip.conf"
    support = home / "Library/Application Support/pip"
    if sys.platform == "darwin" and support.is_dir():
        yield support / "pip.conf"
    else:
        yield Path(env.get("XDG_CONFIG_HOME") or home / ".config", "pip", "pip.conf")
