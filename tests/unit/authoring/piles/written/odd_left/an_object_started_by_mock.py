from up import lib, user
from up.lib import C

from unittest.mock import patch

patch.object(lib, "g", None).start()
C.new = 1
