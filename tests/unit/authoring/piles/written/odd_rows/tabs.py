from up import lib, user
from up.lib import C

def start():
	if lib:
		C.new = 1
		setattr(C, 'size', 3)


start()
