"""Where pip would look for packages, read without pip, which is slow to ask and may be missing."""

import configparser
import contextlib
import importlib.machinery
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from patchkit.errors import SettingsError, UpstreamError

T = TypeVar("T")

# Later ones win. Most people write `[global]`; `[install]` and `[download]` are the commands that
# look for packages.
_SECTIONS = ("global", "install", "download")
_USUAL = "pip/_internal/models/index.py"
_PYPI = re.compile(r"^PyPI = PackageIndex\(\s*[\"'](https://[^\"']+)", re.MULTILINE)
_ETC = Path("/etc")
_SWITCH = dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True)
_SWITCH |= dict.fromkeys(("n", "no", "f", "false", "off", "0"), False)


class PipSettings(NamedTuple):
    """What pip's files and `PIP_*` variables say about finding and fetching packages."""

    indexes: tuple[str, ...] = ()  # URLs of simple indexes, the main one first
    find_links: tuple[str, ...] = ()  # URLs and paths, of pages and directories with packages
    trusted_hosts: tuple[str, ...] = ()  # `host` or `host:port` whose certificate is not checked
    cert: str | None = None  # bundle or directory of certificate authorities, None for the system's
    client_cert: str | None = None
    proxy: str | None = None  # URL of the proxy for everything, None for the environment's
    timeout: float = 15.0
    retries: int = 5

    @classmethod
    def read(
        cls, environ: Mapping[str, str] | None = None, prefix: str | None = None
    ) -> "PipSettings":
        """Read pip's files, also that at a prefix, then variables; SettingsError for bad ones."""
        env = os.environ if environ is None else environ
        values = _Values({**_of_files(env, prefix or sys.prefix), **_of_variables(env)})
        indexes: list[str] = []
        if not values.switch("no-index"):
            indexes = values.urls("index-url")[:1] or [usual_index()]
            indexes += values.urls("extra-index-url")
        return cls(
            indexes=tuple(dict.fromkeys(url.rstrip("/") for url in indexes)),
            find_links=tuple(dict.fromkeys(map(os.path.expanduser, values.urls("find-links")))),
            trusted_hosts=tuple((values.text("trusted-host") or "").split()),
            cert=values.text("cert") or env.get("REQUESTS_CA_BUNDLE") or env.get("CURL_CA_BUNDLE"),
            client_cert=values.text("client-cert"),
            proxy=values.text("proxy"),
            timeout=values.number("timeout", "15"),
            retries=int(values.number("retries", "5")),
        )

    def trusts(self, host: str, port: int) -> bool:
        """Whether the user vouches for a host, whatever its certificate says."""
        return bool({host, f"{host}:{port}"} & {trusted.lower() for trusted in self.trusted_hosts})


def usual_index() -> str:
    """Return the index that pip's own source names as the usual one; UpstreamError without pip."""
    # Only this finder: that of setuptools takes a question for pip as pip's start.
    specs = map(importlib.machinery.PathFinder.find_spec, ("pip", "ensurepip"))
    folders = [Path(spec.origin).parent for spec in specs if spec and spec.origin]
    # What Python brings along for `ensurepip` is a wheel.
    wheels = [wheel for folder in folders for wheel in folder.glob("_bundled/pip-*.whl")]
    places: list[Any] = [*(folder.parent for folder in folders), *map(zipfile.Path, wheels)]
    for place in places:
        with contextlib.suppress(OSError, KeyError):
            if match := _PYPI.search(place.joinpath(_USUAL).read_text(encoding="utf-8")):
                return f"{match[1].rstrip('/')}/simple"
    raise UpstreamError(
        "found no index-url in pip's settings and no pip to say which index is the usual one, "
        "expected one of them; set PIP_INDEX_URL"
    )


class _Values(NamedTuple):
    """Options by pip's long names, as they were written, with the place that says so."""

    options: Mapping[str, tuple[str, str]]

    def text(self, name: str) -> str | None:
        return self.options.get(name, ("", ""))[0].strip() or None

    def urls(self, name: str) -> list[str]:
        return self._parsed(name, "", _urls, "URLs")

    def number(self, name: str, default: str) -> float:
        return self._parsed(name, default, _number, "a number of 0 or more")

    def switch(self, name: str) -> bool:
        return self._parsed(name, "no", lambda text: _SWITCH[text.lower()], "yes or no")

    def _parsed(self, name: str, default: str, parse: Callable[[str], T], expected: str) -> T:
        try:
            return parse(self.text(name) or default)
        except (ValueError, KeyError) as error:
            value, place = self.options[name]
            shown = re.sub(r"//[^/\s]*@", "//…@", value)  # a password is nobody else's
            fault = f"{place}: {name}: found {shown!r}, expected {expected}"
            raise SettingsError(fault) from error


def _urls(text: str) -> list[str]:
    words = text.split()
    _ = [urlsplit(word).port for word in words]  # raises where it is none
    return words


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def _of_variables(env: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """An empty variable is none, as pip has it."""
    return {
        _name(variable[4:]): (value, variable)
        for variable, value in env.items()
        if variable.startswith("PIP_") and value
    }


def _of_files(env: Mapping[str, str], prefix: str) -> dict[str, tuple[str, str]]:
    """Pip's order: a section beats the ones before it, whichever files they are in."""
    sections: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in _SECTIONS}
    for file in _files(env, Path(prefix)):
        parser = _parsed(file)
        for section in filter(parser.has_section, _SECTIONS):
            for name, value in parser.items(section):
                sections[section][_name(name)] = (value or "", str(file))
    return {name: found for options in sections.values() for name, found in options.items()}


def _name(written: str) -> str:
    name = written.lower().replace("_", "-").lstrip("-")
    return "timeout" if name == "default-timeout" else name


def _parsed(file: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text(), str(file))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return parser  # pip skips these too
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(f"pip's configuration {file} cannot be read: {reason}") from error
    return parser


def _files(env: Mapping[str, str], prefix: Path) -> Iterator[Path]:
    """The machine's, the user's, the environment's, and the one that a variable names."""
    named = env.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    home, is_apple = Path(env.get("HOME") or Path.home()), sys.platform == "darwin"
    if is_apple:
        yield Path("/Library/Application Support/pip/pip.conf")
    else:
        places = (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
        yield from (Path(place, "pip/pip.conf") for place in places if place)
        yield _ETC / "pip.conf"
    if not (named and Path(named).exists()):
        yield home / ".pip/pip.conf"
        apple = home / "Library/Application Support/pip"
        own = Path(env.get("XDG_CONFIG_HOME") or home / ".config", "pip")
        yield (apple if is_apple and apple.is_dir() else own) / "pip.conf"
    yield prefix / "pip.conf"
    if named:
        yield Path(named)
