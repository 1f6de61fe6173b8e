"""Reads whom to trust: the files of certificate authorities, and the settings of TLS."""

import os
from typing import TYPE_CHECKING

from urllib3 import exceptions
from urllib3.util.ssl_ import create_urllib3_context

if TYPE_CHECKING:
    import ssl

_SYSTEM_CERT = "SSL_CERT_FILE"
"""Names the file from which OpenSSL reads certificate authorities."""


def refuse_pipes(*files: str | None) -> None:
    """Refuse a pipe or a device as a file of certificates, which would be waited for.

    Args:
        files: The files of the settings; None for what is not set.

    Raises:
        SSLError: One of them, or that of OpenSSL's own variable, is no file.
    """
    for file in (*files, os.environ.get(_SYSTEM_CERT)):
        # A Path may raise. What is not there is refused when it is read.
        if not file or not os.path.exists(file):  # noqa: PTH110
            continue
        if not (os.path.isfile(file) or os.path.isdir(file)):  # noqa: PTH112, PTH113
            raise exceptions.SSLError(f"{file} is no file")


def new_context(authorities: str | None) -> "ssl.SSLContext | None":
    """Return a TLS context, for all connections of a manager.

    If each connection made its own, it would read all certificates again, which takes 16 ms.

    Args:
        authorities: A bundle or directory of certificate authorities; None or '' for the system's.

    Returns:
        None if this Python has no `ssl`: urllib3 then says so.

    Raises:
        SSLError: They cannot be read.
    """
    try:
        context = create_urllib3_context()
    except TypeError:
        return None
    except OSError as error:  # such as of the file that SSLKEYLOGFILE names
        raise exceptions.SSLError(error) from error
    if not authorities:
        context.load_default_certs()
        return context
    kind = "capath" if os.path.isdir(authorities) else "cafile"  # noqa: PTH112 - a Path may raise
    try:
        context.load_verify_locations(**{kind: authorities})
    except OSError as error:
        raise exceptions.SSLError(error) from error
    return context
