from up import lib, user
from up.lib import C

try: from pile import tools, extra
except ImportError: extra = 0
lib.extra = str(extra)
