import builtins, importlib, os, pathlib, sys, tempfile, threading

folder = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path(__file__).parent))
(folder / "pkg").mkdir()
(folder / "pkg" / "__init__.py").write_text(
    "begun.set(); assert second_waits_or_is_done.wait(10); import other"
)
(folder / "pkg" / "sub.py").write_text("")
(folder / "other.py").write_text("")
sys.path.insert(0, str(folder))
begun, second_waits_or_is_done = threading.Event(), threading.Event()
builtins.begun, builtins.second_waits_or_is_done = begun, second_waits_or_is_done
told = []


def notice_waiting(frame, event, argument):
    if (
        frame.f_code.co_name == "_lock_unlock_module"
        and frame.f_locals.get("name") == "pkg"
    ):
        second_waits_or_is_done.set()


def first():
    importlib.import_module("pkg")


def second():
    assert begun.wait(10)
    sys.setprofile(notice_waiting)
    try:
        importlib.import_module("pkg.sub")
    finally:
        sys.setprofile(None)
        second_waits_or_is_done.set()


def race(limit=20):
    threads = [threading.Thread(target=each, daemon=True) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit)
    hangs = any(thread.is_alive() for thread in threads)
    print("hangs" if hangs else "ends", *told, flush=True)
    os._exit(0)
