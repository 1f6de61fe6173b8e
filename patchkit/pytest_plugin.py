"""The pytest plugin: apply patches in a test, and select tests by the version of vLLM.

Nothing of patchkit's session is imported before a test needs it.
"""

import os
import sys
from collections.abc import Callable, Generator
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
_FAULT = pytest.StashKey[str]()
_ENVIRON = pytest.StashKey[pytest.MonkeyPatch]()

_MARKERS = (
    "patched(name, ..., packs=()): apply these patches around the test; none means all for here",
    "vllm(bounds): only with a vLLM within bounds such as '>=0.11,<0.13'; none means any vLLM",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
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
    """Let tests decide which patches apply, before a conftest imports vLLM and its plugins."""
    _environ(early_config).setenv(TESTS_VARIABLE, "1")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and name the project's packs for this process and its children."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        project = Project.read(config.rootpath)
    except SettingsError as error:
        raise pytest.UsageError(f"patchkit: {error}") from error
    packs = config.getoption("patchkit_patches") or project.packs
    folders = project.folders_of(packs)
    sys.path += folders
    for name, mark, texts in (("PYTHONPATH", os.pathsep, folders), (_VARIABLE, ",", packs)):
        if texts:
            former = filter(None, [os.environ.get(name)])
            _environ(config).setenv(name, mark.join([*former, *texts]))


def _environ(config: pytest.Config) -> pytest.MonkeyPatch:
    """Return what changes the environment, and restores it at the end."""
    if _ENVIRON not in config.stash:
        config.stash[_ENVIRON] = pytest.MonkeyPatch()
        config.add_cleanup(config.stash[_ENVIRON].undo)
    return config.stash[_ENVIRON]


def pytest_report_header() -> str:
    """Report the version of vLLM and the number of patches."""
    from patchkit.registry import Registry  # noqa: PLC0415 - only where the header is shown

    try:
        settings = Settings.read()
        count = len(Registry.collect(settings))
        version = Versions.of(settings).find("vllm")
    except PatchkitError as error:
        return f"patchkit: {error}"
    here = f"vllm {version.version} ({version.source})" if version else "vllm is not installed"
    return f"patchkit: {here}, {count} patch{'' if count == 1 else 'es'}"


@pytest.fixture
def patchkit_applied(request: pytest.FixtureRequest) -> Generator[Callable[..., None], None, None]:
    """Apply patches until the test ends: `patchkit_applied("name", …)`, as often as needed."""
    packs = request.config.getoption("patchkit_patches")
    with ExitStack() as stack:

        def apply(*names: str, packs: str | tuple[str, ...] | list[str] = tuple(packs)) -> None:
            stack.enter_context(applied(*names, packs=packs))

        yield apply


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Apply the patches that the `patched` markers name, the outermost marker first."""
    with ExitStack() as stack:
        for marker in reversed(list(item.iter_markers("patched"))):
            packs = marker.kwargs.get("packs", item.config.getoption("patchkit_patches"))
            stack.enter_context(applied(*marker.args, packs=packs))
        yield


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests that are for another version of vLLM."""
    marked = [(item, marker) for item in items for marker in item.iter_markers("vllm")]
    if not marked:
        return
    try:
        versions = Versions.of(Settings.read())
    except PatchkitError as error:
        raise pytest.UsageError(f"patchkit: {error}") from error
    strict = config.getoption("patchkit_strict")
    for item, marker in marked:
        _judge(item, _bounds(item, marker), versions, strict=strict)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose `vllm` marker cannot be decided."""
    if (fault := item.stash.get(_FAULT, None)) is not None:
        pytest.fail(fault, pytrace=False)


def _bounds(item: pytest.Item, marker: pytest.Mark) -> str:
    bounds = marker.args[0] if marker.args else ""
    if marker.kwargs or len(marker.args) > 1 or not isinstance(bounds, str):
        given = ", ".join([*map(repr, marker.args), *marker.kwargs])
        raise pytest.UsageError(
            f"{item.nodeid}: found vllm({given}), expected bounds such as vllm('>=0.11,<0.13')"
        )
    try:
        satisfies("1.0", bounds)
    except PatchkitError as error:
        raise pytest.UsageError(f"{item.nodeid}: marker vllm: {error}") from error
    return bounds


def _judge(item: pytest.Item, bounds: str, versions: Versions, *, strict: bool) -> None:
    try:
        version = versions.find("vllm")
        reason = versions.unmet(f"vllm{bounds}")
    except PatchkitError as error:
        item.stash[_FAULT] = str(error)
        return
    if reason is None:
        return
    if version is not None:
        reason += f" (version from {version.source})"
    elif strict:
        item.stash[_FAULT] = f"{reason}, and --patchkit-strict asks for it"
        return
    item.add_marker(pytest.mark.skip(reason=reason))
