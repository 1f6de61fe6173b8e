"""Shows URLs, and settings that have some, with `…` for each part that may be a secret."""

import re

from patchkit.analysis.upstream.reading.urls import (
    address_of,
    authority_of,
    divided,
    is_usual,
    without_secrets,
)

_URL = re.compile(r"(?!file:)(?:[a-z][a-z0-9+.-]*://|https?:)", re.IGNORECASE)
"""Matches the beginning of what is meant to be a URL, of any scheme but that of files."""


def shown(url: str) -> str:
    """Return a URL for a message: `…` stands for each part of it that may be a secret.

    Some indexes have a token in the path, or behind the `?`. So of the path only words remain that
    the addresses of indexes usually have.

    Args:
        url: The URL, or a path, which is shown as it is.
    """
    public = without_secrets(url)
    if not _URL.match(public):
        return public
    beginning, slash, rest = public.partition("/")
    if not rest:
        return public
    if not rest.startswith("/"):  # `http:host/…`, where a slash is missing
        return f"{beginning}{slash}…"
    scheme, host, path, query = address_of(public)
    text = f"{scheme}//{host}"
    for part in path:
        word = part if is_usual(part) else "…"
        text += f"/{word}"
    if query:
        text += "?…"
    return text


def masked(text: str) -> str:
    """Return a setting for a message: in each URL, `…` stands for what may be secret.

    Args:
        text: The setting, which may have several URLs, also malformed ones: a password may have
            blanks in it.
    """
    # Each part begins with a scheme, but for what stands before the first one.
    parts = re.split(r"(?=\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)", text)
    return "".join(map(_masked, parts))


def _masked(text: str) -> str:
    """Mask the part of a setting that begins with a URL; the blanks behind it are kept."""
    scheme, separator, rest = text.rpartition("://")
    _, _, host = rest.rpartition("@")
    words = rest.split()
    is_login = len(words) > 1 and "@" not in words[0] and host != rest
    # Without a scheme, only `name:password with blanks@host` is taken for a login.
    if is_login and (separator or ":" in words[0]):
        # If it was another URL, which has no login, it is left out as well.
        return f"{scheme}{separator}…@{_shown_word(host)}"
    return _masked_words(text)


def _shown_word(text: str) -> str:
    """Show a host and what follows it, up to a blank; then the rest."""
    word, blank, rest = re.split(r"(\s+|\Z)", text, maxsplit=1)
    shown_word = shown(f"https://{word}").removeprefix("https://")
    return shown_word + blank + rest


def _masked_words(text: str) -> str:
    """Mask each word of a setting that is a URL."""
    words = []
    for word in re.split(r"(\s+)", text):  # the blanks are kept, as words of their own
        parts = divided(word)
        if parts.login:
            words.append(f"{parts.before}…@{_shown_word(parts.after)}")
        elif re.match(r"https?://[^/]*:", word) and not authority_of(word):
            # The port is no number, so that it may be the beginning of a password.
            words.append(re.sub(r"(?<=://).*", "…", word))
        else:
            address = word.rstrip(":")
            words.append(shown(address) + word[len(address) :])
    return "".join(words)
