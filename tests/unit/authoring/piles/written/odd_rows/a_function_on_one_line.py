from up import lib, user
from up.lib import C

def start(): C.m = lambda self, a, b=0: 'new'


start()
