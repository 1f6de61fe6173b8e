"""Applies patches in tests, and selects tests by the version of vLLM: the pytest plugin.

Nothing of patchkit's session is imported before a test needs it.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack

import pytest

from patchkit.core.rows.project import Project
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import satisfies
from patchkit.errors import PatchkitError, SettingsError
from patchkit.runtime.process.roles import TESTS_VARIABLE
from patchkit.runtime.testing.applied import applied
from patchkit.settings import Settings

_VARIABLE = "PATCHKIT_PATCHES"
# Of a test: why its `vllm` marker cannot be decided. Of the run: what changed its environment.
_FAULT = pytest.StashKey[str]()
_ENVIRON = pytest.StashKey[pytest.MonkeyPatch]()

_MARKERS = (
    "patched(name, ..., packs=()): apply these patches around the test; none means all for here",
    "vllm(bounds): only with a vLLM within bounds such as '>=0.11,<0.13'; none means any vLLM",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options.

    Args:
        parser: The parser of pytest's options.
    """
    group = parser.getgroup("patchkit")
    group.addoption(
        "--patchkit-patches",
        action="append",
        default=[],
        metavar="MODULE",
        help="a pack beside the installed ones; may be repeated",
    )
    group.addoption(
        "--patchkit-strict",
        action="store_true",
        help="fail the tests that are marked `vllm` where vLLM is not installed, not skip them",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Set the variable that makes patchkit wait for tests to apply patches.

    It must be set before a conftest imports vLLM, whose plugins would apply all patches.

    Args:
        early_config: The configuration of the run.
    """
    _environ(early_config).setenv(TESTS_VARIABLE, "1")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and make the project's packs importable, also in child processes.

    These find the packs by environment variables, this process by `sys.path`.

    Args:
        config: The configuration of the run.

    Raises:
        UsageError: The settings of the project are invalid.
    """
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        project = Project.read(config.rootpath)
    except SettingsError as error:
        raise pytest.UsageError(f"patchkit: {error}") from error
    packs = config.getoption("patchkit_patches") or project.packs
    folders = project.folders_of(packs)
    sys.path += folders
    _append(config, "PYTHONPATH", os.pathsep, folders)
    _append(config, _VARIABLE, ",", packs)


def _append(
    config: pytest.Config, name: str, separator: str, texts: Iterable[str]
) -> None:
    """Append texts to an environment variable until the end of the run; no texts change nothing."""
    parts = list(texts)
    if not parts:
        return
    former = os.environ.get(name)
    if former:
        parts.insert(0, former)
    _environ(config).setenv(name, separator.join(parts))


def _environ(config: pytest.Config) -> pytest.MonkeyPatch:
    """Return the run's MonkeyPatch for environment variables, which is undone when the run ends."""
    if _ENVIRON not in config.stash:
        config.stash[_ENVIRON] = pytest.MonkeyPatch()
        config.add_cleanup(config.stash[_ENVIRON].undo)
    return config.stash[_ENVIRON]


def pytest_report_header() -> str:
    """Return a line with the version of vLLM and the number of patches."""
    from patchkit.registry import Registry  # noqa: PLC0415 - only where the header is shown

    try:
        settings = Settings.read()
        count = len(Registry.collect(settings))
        version = Versions.of(settings).find("vllm")
    except PatchkitError as error:
        return f"patchkit: {error}"
    vllm = (
        f"vllm {version.version} ({version.source})"
        if version
        else "vllm is not installed"
    )
    noun = "patch" if count == 1 else "patches"
    return f"patchkit: {vllm}, {count} {noun}"


@pytest.fixture
def patchkit_applied(
    request: pytest.FixtureRequest,
) -> Generator[Callable[..., None], None, None]:
    """Apply patches until the test ends: `patchkit_applied("name", …)`, as often as needed.

    Args:
        request: The test's request.

    Yields:
        The function to call with names of patches; no names mean all that are for this process.
    """
    packs = request.config.getoption("patchkit_patches")
    with ExitStack() as stack:

        def apply(
            *names: str, packs: str | tuple[str, ...] | list[str] = tuple(packs)
        ) -> None:
            stack.enter_context(applied(*names, packs=packs))

        yield apply


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Apply the patches that the `patched` markers name, the outermost marker first.

    Args:
        item: The test.

    Yields:
        Nothing, while the test runs.
    """
    with ExitStack() as stack:
        # pytest yields the nearest marker first: of the function, its class, its module.
        for marker in reversed(list(item.iter_markers("patched"))):
            packs = marker.kwargs.get(
                "packs", item.config.getoption("patchkit_patches")
            )
            stack.enter_context(applied(*marker.args, packs=packs))
        yield


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Skip the tests that are for another version of vLLM.

    It comes last, when other plugins have left out the tests that are not to run.

    Args:
        config: The configuration of the run.
        items: The tests.

    Raises:
        UsageError: The settings of patchkit, or the bounds of a marker, are invalid.
    """
    marked: list[tuple[pytest.Item, pytest.Mark]] = []
    for item in items:
        marked += [(item, marker) for marker in item.iter_markers("vllm")]
    if not marked:
        return
    try:
        versions = Versions.of(Settings.read())
    except PatchkitError as error:
        raise pytest.UsageError(f"patchkit: {error}") from error
    strict = config.getoption("patchkit_strict")
    for item, marker in marked:
        _skip_or_fail(item, _bounds(item, marker), versions, strict=strict)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose `vllm` marker `_skip_or_fail` could not decide, before its fixtures run.

    Args:
        item: The test.
    """
    fault = item.stash.get(_FAULT, None)
    if fault is not None:
        pytest.fail(fault, pytrace=False)


def _bounds(item: pytest.Item, marker: pytest.Mark) -> str:
    """Return the bounds that a `vllm` marker names, '' for any version.

    Raises:
        UsageError: The marker has other arguments, or the bounds are invalid.
    """
    bounds = marker.args[0] if marker.args else ""
    if marker.kwargs or len(marker.args) > 1 or not isinstance(bounds, str):
        arguments = ", ".join([*map(repr, marker.args), *marker.kwargs])
        expected = "expected bounds such as vllm('>=0.11,<0.13')"
        raise pytest.UsageError(f"{item.nodeid}: found vllm({arguments}), {expected}")
    try:
        satisfies("1.0", bounds)  # only to see whether the bounds are valid
    except PatchkitError as error:
        raise pytest.UsageError(f"{item.nodeid}: marker vllm: {error}") from error
    return bounds


def _skip_or_fail(
    item: pytest.Item, bounds: str, versions: Versions, *, strict: bool
) -> None:
    """Mark a test as skipped if the version of vLLM here is outside the bounds of its marker.

    The test is to fail if vLLM's version is unclear, or vLLM is not installed and `strict` is set.
    As tests are still being collected, this only stores a message, with which
    `pytest_runtest_setup` later fails the test.
    """
    try:
        version = versions.find("vllm")
        reason = versions.unmet(f"vllm{bounds}")
    except PatchkitError as error:
        item.stash[_FAULT] = str(error)
        return
    if reason is None:
        return
    if version is None and strict:
        item.stash[_FAULT] = f"{reason}, and --patchkit-strict asks for it"
        return
    if version is not None:
        reason += f" (version from {version.source})"
    item.add_marker(pytest.mark.skip(reason=reason))
