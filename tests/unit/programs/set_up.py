import patchkit.ray
from patchkit.runtime.reach import arming

patchkit.ray.set_up()
print(arming.current().roles)
