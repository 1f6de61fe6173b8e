import multiprocessing
import runpy


def child():
    runpy.run_path("say.py")


if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == 0
