"""Serves the metrics of `patchkit status` to a scrape."""

import signal
import socket
from collections.abc import Callable
from contextlib import suppress

import click

from patchkit.analysis.status import Picture
from patchkit.cli.output import say
from patchkit.cli.report.status_metrics import PictureCollector, require_client


def serve(port: int, draw_now: Callable[[], Picture]) -> None:
    """Answer scrapes at a port until the user interrupts, or SIGTERM comes.

    Args:
        port: The port, on all addresses of this machine.
        draw_now: Returns the picture of now; it is called for each scrape.

    Raises:
        UsageError: prometheus_client is not installed, or the port is not free.
    """
    require_client()
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - an extra

    registry = CollectorRegistry(auto_describe=False)
    registry.register(PictureCollector(draw_now))
    try:
        server, thread = start_http_server(port, _any_address(), registry)
    except OSError as error:
        raise click.UsageError(
            f"--port {port}: cannot be served ({error.strerror})"
        ) from error
    # The first process of a container is not ended by a SIGTERM that it does not handle.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    say(f"metrics are served at http://localhost:{port}/metrics")
    with suppress(KeyboardInterrupt):
        thread.join()
    server.shutdown()
    server.server_close()


def _any_address() -> str:
    """Return the address that stands for all of this machine, also those of IPv6 if it has that."""
    with suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        takes_both = not probe.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
        if takes_both:
            return "::"
    return "0.0.0.0"  # noqa: S104 - a scrape comes from elsewhere
