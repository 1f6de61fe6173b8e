from up import lib
from up.lib import C

lib.Gone.m = 1
C.new = 1
