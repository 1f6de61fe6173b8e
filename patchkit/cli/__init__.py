"""The command `patchkit`, whose subcommands are the modules of `patchkit.cli.commands`."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments after `patchkit`, or None for those of this process.

    Returns:
        The exit code: 0 fine, 1 findings, 2 wrong use or broken input; other codes are those of the
        command that `patchkit run` has started, or 130 if the user has interrupted.
    """
    from patchkit.cli.app import run  # noqa: PLC0415 - who imports the package needs no click

    return run(argv)
