import json.tool, multiprocessing


def child(): ...


if __name__ == "__main__":
    for method in ("spawn", "fork"):
        process = multiprocessing.get_context(method).Process(target=child)
        process.start()
        process.join()
