from unittest import mock

from up import lib

mock.patch("up.lib.g", lambda: "mocked").start()
mock.patch.object(lib.C, "size", 77).start()
