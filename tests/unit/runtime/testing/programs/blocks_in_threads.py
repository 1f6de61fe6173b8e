import json, sys, threading, up.mod

sys.setswitchinterval(1e-6)
from patchkit import applied
from patchkit.runtime.reach import arming

before, wrong, barrier = list(sys.meta_path), [], threading.Barrier(4)


def work(number):
    barrier.wait(10)
    for _ in range(20):
        with applied(f"p{number}"):
            if getattr(up.mod, f"f{number}")() != ("by", number):
                wrong.append(number)
        if getattr(up.mod, f"f{number}")() != number:
            wrong.append(number)


threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20)
left = [thread.is_alive() for thread in threads]
print(
    json.dumps(
        [wrong, any(left), sys.meta_path == before, arming._state.session is None]
    )
)
