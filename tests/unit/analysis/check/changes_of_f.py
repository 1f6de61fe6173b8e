"""Changes of `up.mod:f`, and the body that has what they name."""

from __future__ import annotations

REPLACE = "Replace('up.mod:f', by='g')"
WRAP = "Wrap('up.mod:f', by='w')"
BODY = "def g(a, b=1): return a\ndef w(wrapped, instance, args, kwargs): ...\nN = 3\n"
