"""Releases, pages, packs and locks that nobody would write in good faith."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zipfile
from functools import cache

from analysis.upstream import archives

GOOD = "def f(alpha, beta):\n    return [alpha + one for one in beta]\n"
DEEP = 3_000


@cache
def sources() -> dict[str, bytes]:
    """Texts of a module, by what is wrong with them."""
    texts = {
        "null byte": "def f(alpha, beta): ...\0",
        "unterminated string": "x = '''",
        "deep parentheses": f"x = {'(' * DEEP}{')' * DEEP}",
        "deep lists": f"x = {'[' * 90}{']' * 90}",
        "deep unary": f"x = {'-' * DEEP}1",
        "deep not": f"x = {'not ' * DEEP}1",
        "long sum": "x = " + "+".join(["1"] * DEEP),
        "long attribute": f"x = a{'.a' * DEEP}",
        "long call": f"x = a{'()' * DEEP}",
        "long subscript": f"x = a{'[0]' * DEEP}",
        "long lambda": "x = " + "lambda: " * DEEP + "1",
        "long condition": "x = " + "1 if a else " * DEEP + "0",
        "long comparison": "x = " + "<".join(["1"] * DEEP),
        "long bool": "x = " + " and ".join(["a"] * DEEP),
        "long assignment": "x = " * DEEP + "1",
        "long line": f"x = '{'a' * 2_000_000}'",
        "long name": f"{'n' * 500_000} = 1",
        "many names": "\n".join(f"n{number} = n{number - 1}" for number in range(DEEP)),
        "many branches": "if a: x = 1\n" + "elif a: x = 1\n" * DEEP,
        "many decorators": "@d\n" * DEEP + "def f(alpha, beta): ...",
        "many bases": f"class C({', '.join(f'B{n}' for n in range(DEEP))}): ...",
        "many parameters": f"def f({', '.join(f'p{n}' for n in range(DEEP))}): ...",
        "nested functions": "".join(f"{' ' * n}def f():\n" for n in range(150)),
        "nested classes": "".join(f"{' ' * n}class C:\n" for n in range(99))
        + " " * 99
        + "pass",
        "nested try": "".join(f"{' ' * n}try:\n" for n in range(99)),
        "nested with": "with a: " * 50,
        "huge number": f"x = {'9' * 10_000}",
        "huge power": "x = 9 ** 9 ** 9 ** 9",
        "huge repeat": "x = 'a' * 10 ** 12\n__all__ = ['f'] * 10 ** 12",
        "huge range": "for x in range(10 ** 18): ...\nf = [y for y in range(10 ** 18)]",
        "endless loop": "while True: ...",
        "endless recursion": "def g(): return g()\nx = g()",
        "exit": "raise SystemExit('no')",
        "itself": "f = f",
        "each other": "f = g\ng = f",
        "three in a circle": "f = g\ng = h\nh = f",
        "own decorator": "@f\ndef f(alpha, beta): ...",
        "decorators in a circle": "@g\ndef f(alpha, beta): ...\n@f\ndef g(h): return h",
        "decorator of itself": "def f(f): return f(f)\n@f(f)\ndef f(alpha, beta): ...",
        "own base": "class f(f): ...",
        "bases in a circle": "class f(g): ...\nclass g(f): ...",
        "own metaclass": "class f(type, metaclass=f): ...",
        "own property": "class f:\n f = property(f)\n @f.setter\n def f(self): ...",
        "own slots": "class f:\n __slots__ = __slots__",
        "own import": "from up.mod import f",
        "own star": "from up.mod import *",
        "own all": "from up.mod import *\n__all__ = __all__ + [*__all__]",
        "circle of imports": "from up.other import f",
        "circle of stars": "from up.other import *",
        "circle through the package": "from up import *\nfrom up import f",
        "above the top": "from ........ import f",
        "star of nothing": "from nowhere.at.all import *",
        "own getattr": "def __getattr__(name): return __getattr__(name)",
        "own globals": "globals().update(globals())\nlocals()['f'] = f",
        "modules": "import sys\nsys.modules[__name__] = sys.modules[__name__]",
        "del": "def f(alpha, beta): ...\ndel f, f",
        "global": "global f\nf = 1",
        "walrus": "(f := (f := f))",
        "match": "match f:\n case f: ...\n case [f, *f]: ...",
        "star assignment": "*f, f = f",
        "surrogates": "x = '\\ud800'\ndef f(alpha='\\udfff'): ...",
        "deleted all": "del __all__",
        "all of numbers": "__all__ = [1, None, ..., b'f', ('f',)]",
        "named tuple of itself": "from collections import namedtuple\n"
        "f = namedtuple('f', f)\ng = namedtuple(g, 'g')",
        "enum of itself": "import enum\nf = enum.Enum('f', f)",
        "dataclass of itself": "import dataclasses\n@dataclasses.dataclass(**f)\n"
        "class f(f):\n f: f = f",
        "metaclass of itself": "class M(type, metaclass=M):\n"
        " def __new__(M, n, b, s):\n  s[s] = s\n  return M.__new__(M, n, b, s)\n"
        "class f(metaclass=M): ...",
        "form feeds": "\f\f def f(): ...",
        "returns": GOOD.replace("\n", "\r"),
        "tabs": "if 1:\n\tx = 1\n        y = 2",
        "bidi": "x = '\u202e' # \u2066\ndef f(alpha, beta): ...",
        "other letters": "def \u1d453(alpha, beta): ...",
        "digits": "x = \u0661",
    }
    found = {
        name: text.encode("utf-8", "surrogatepass") for name, text in texts.items()
    }
    return found | {
        "latin": b"x = '\xe9'",
        "overlong": b"x = '\xc0\x80'",
        "surrogate bytes": b"x = '\xed\xa0\x80'",
        "wide": GOOD.encode("utf-16"),
        "wider": GOOD.encode("utf-32"),
        "unknown coding": b"# coding: no-such\n" + GOOD.encode(),
        "coding of bytes": b"# coding: hex\n" + GOOD.encode(),
        "compressing coding": b"# coding: zlib\n" + gzip.compress(b"x"),
        "escaping coding": b"# coding: unicode_escape\nx = '\\x00'",
        "seven bits": b"# coding: utf-7\n+AG8-",
        "two marks": b"\xef\xbb\xbf\xef\xbb\xbfx = 1",
        "mark and coding": b"\xef\xbb\xbf# coding: latin-1\nx = 1",
        "only nulls": bytes(10_000),
        "noise": random.Random(34).randbytes(50_000),
        "an archive": archives.wheel(),
        "empty": b"",
    }


@cache
def wheels() -> dict[str, bytes]:
    """Bytes of a wheel, by what is wrong with them."""
    good = packed({"up/__init__.py": b"", "up/mod.py": GOOD.encode()})
    chance = random.Random(34)
    found = {
        "empty": b"",
        "one byte": b"P",
        "page": b"<html><body>404</body></html>",
        "end alone": b"PK\x05\x06" + bytes(18),
        "end that counts": b"PK\x05\x06" + b"\xff" * 18,
        "nulls": bytes(100_000),
        "noise": chance.randbytes(100_000),
        "gzip": gzip.compress(good),
        "tar": archives.sdist({"up/mod.py": b""}),
        "twice": good + good,
        "in front": b"#!/bin/sh\n" + good,
        "behind": good + b"PK\x05\x06",
        "claims": archives.with_claimed_size(good, "up/mod.py", 2**32 - 2),
        "claims nothing": archives.with_claimed_size(good, "up/mod.py", 0),
        "elsewhere": archives.with_offset(good, "up/mod.py", 2**32 - 2),
        "on the other": archives.with_offset(good, "up/mod.py", 0),
        "encrypted": archives.with_flag(good, "up/mod.py", 1),
        "patched": archives.with_flag(good, "up/mod.py", 32),
        "bomb": packed({"up/__init__.py": b"", "up/mod.py": bytes(20_000_000)}),
        "upwards": archives.renamed(good, "up/mod.py", "../md.py_"),
        "absolute": archives.renamed(good, "up/mod.py", "/p/mod.py"),
        "backslash": archives.renamed(good, "up/mod.py", "up\\mod.py"),
        "null in name": archives.renamed(good, "up/mod.py", "up/m\0d.py"),
        "line in name": archives.renamed(good, "up/mod.py", "up/m\nd.py"),
        "escape in name": archives.renamed(good, "up/mod.py", "up/m\x1bd.py"),
        "folder and file": packed({"up": b"", "up/mod.py": b"", "up/mod.py/a.py": b""}),
        "link": packed({"up/__init__.py": b"", "up/mod.py": b"/etc/passwd"}, 0o120777),
        "device": packed({"up/__init__.py": b"", "up/mod.py": b""}, 0o060777),
        "no files": packed({}),
        "other project": packed({"other/__init__.py": b""}),
        "many files": packed({f"up/m{number}.py": b"" for number in range(5_000)}),
        "deep folder": packed({"up/" + "d/" * 2_000 + "mod.py": b""}),
        "record": packed(
            {"up/mod.py": b"", "up-2.0.dist-info/RECORD": b"\xff,\n" * 99}
        ),
        "metadata": packed({"up/mod.py": b"", "up-2.0.dist-info/METADATA": b"\0\xff"}),
        "points": packed(
            {"up/mod.py": b"", "up-2.0.dist-info/entry_points.txt": b"[["}
        ),
    }
    for number in range(8):
        found[f"cut {number}"] = good[: len(good) * (number + 1) // 9]
    for number in range(24):
        changed = bytearray(good)
        for place in chance.sample(range(len(good)), 6):
            changed[place] = chance.randrange(256)
        found[f"changed {number}"] = bytes(changed)
    return found


def packed(files: dict[str, bytes], mode: int = 0o100644) -> bytes:
    """A wheel whose members have a mode of Unix."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return buffer.getvalue()


@cache
def tarballs() -> dict[str, bytes]:
    """Source distributions, by what is wrong with them."""
    good = archives.sdist({"up/mod.py": GOOD.encode()}, "up-2.0")
    kinds = {
        "link": tarfile.SYMTYPE,
        "hard link": tarfile.LNKTYPE,
        "pipe": tarfile.FIFOTYPE,
    }
    found = {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "plain": gzip.decompress(good),
        "noise in gzip": gzip.compress(random.Random(34).randbytes(10_000)),
        "bomb": gzip.compress(bytes(100_000_000)),
        "upwards": archives.sdist({"../../../up/mod.py": b""}, ".."),
        "absolute": archives.sdist({"up/mod.py": b""}, "/tmp"),
    }
    for name, kind in kinds.items():
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            info = tarfile.TarInfo("up-2.0/up/mod.py")
            info.type = kind
            info.linkname = "/etc/passwd"
            archive.addfile(info)
        found[name] = buffer.getvalue()
    return found


@cache
def pages() -> dict[str, tuple[str, bytes]]:
    """Pages of an index, each with its type, by what is wrong with them."""
    json = "application/vnd.pypi.simple.v1+json"
    file = '{"filename": "up-2.0-py3-none-any.whl", %s}'
    listed = '{"meta": {"api-version": "1.0"}, "files": [%s]}'
    texts = {
        "null": "null",
        "list": "[]",
        "files of null": '{"files": null}',
        "files of numbers": listed % "1, 2.5, true",
        "no address": listed % file.replace(", %s", ""),
        "address of number": listed % (file % '"url": 1'),
        "address of nothing": listed % (file % '"url": ""'),
        "address of script": listed % (file % '"url": "javascript:alert(1)"'),
        "address of file": listed % (file % '"url": "file:///etc/passwd"'),
        "address broken": listed % (file % '"url": "http://[::1"'),
        "port broken": listed % (file % '"url": "http://h:99999999/up.whl"'),
        "hashes of list": listed % (file % '"url": "up.whl", "hashes": []'),
        "yanked": listed % (file % '"url": "up.whl", "yanked": {"a": []}'),
        "python": listed % (file % '"url": "up.whl", "requires-python": 3'),
        "version": '{"meta": {"api-version": "9.0"}, "files": []}',
        "deep": "[" * 100_000,
        "number": '{"files": %s}' % ("9" * 10_000),
        "cut": listed[:20],
    }
    found = {name: (json, text.encode()) for name, text in texts.items()}
    html = {
        "nothing": b"",
        "noise": random.Random(34).randbytes(10_000),
        "unclosed": b"<a href='up-2.0-py3-none-any.whl",
        "no address": b"<a>up-2.0-py3-none-any.whl</a>" * 10_000,
        "deep": b"<div>" * 100_000,
        "broken address": b"<a href='http://[::1'>up-2.0-py3-none-any.whl</a>",
        "null address": b"<a href='\0'>up-2.0-py3-none-any.whl</a>",
        "base": b"<base href='file:///etc/'><a href='passwd'>up-2.0-py3-none-any.whl</a>",
        "entity": b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>&b;",
    }
    return found | {
        f"{name} of HTML": ("text/html", data) for name, data in html.items()
    }


@cache
def files() -> dict[str, bytes]:
    """Texts that are no lock, no settings, no cache and no pack."""
    return {
        "empty": b"",
        "null byte": b"\0",
        "noise": random.Random(34).randbytes(5_000),
        "null": b"null",
        "list": b"[]",
        "number": b"1e999",
        "deep": b"[" * 100_000,
        "wrong": b'{"version": 1, "targets": [1]}',
        "wrong keys": b'{"version": {}, "releases": null}',
        "python": b"PATCHES = (",
    }
