from up import lib, user
from up.lib import C

from unittest import mock

mock.patch("up.lib.g", None).start()
C.new = 1
