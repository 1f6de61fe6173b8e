"""The command `patchkit`, whose subcommands are the modules of `patchkit.cli.commands`."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments after `patchkit`, or None for those of this process.

    Returns:
        The exit code: 0 fine, 1 findings, 2 wrong use or broken input, 130 interrupted by the user.
        `patchkit run` and `patchkit probe` return that of the command that they run.
    """
    from patchkit.cli.app import run  # noqa: PLC0415 - click is imported only where it is needed

    return run(argv)
