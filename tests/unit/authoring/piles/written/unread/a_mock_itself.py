from unittest import mock

from up import lib


def register():
    lib.g = mock.Mock(return_value="mocked")
    lib.C.m = mock.create_autospec(lib.C.m, return_value="auto")
