"""An engine as a contender (see contender.py): loads one model in one configuration, and runs it when asked.

    serve.py CONFIGURATION MODEL THREADS INPUT [SHAPE]

CONFIGURATION is a name of configurations.py, INPUT a file of the input's elements (f32, row-major, in the order of SHAPE such
as 1x3x512x512).
"""
import importlib
import json
import os
import sys
import time

import configurations


def memory(field):
    """Bytes of a line of the process's status: VmHWM is the largest resident size so far."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def write_outputs(arrays, path):
    import numpy
    described = []
    with open(path, "wb") as file:
        for array in arrays:
            array = numpy.ascontiguousarray(array)
            if array.dtype == numpy.float16:
                array = array.astype(numpy.float32)
            described.append({"dtype": str(array.dtype), "shape": list(array.shape)})
            file.write(array.tobytes())
    return described


def answer(question, engine):
    words = question.split(maxsplit=1)
    if words[0] == "run":
        times, cpu_times = [], []
        for _ in range(int(words[1])):
            cpu_start, start = time.process_time(), time.perf_counter()
            engine.run()
            times.append(1e3 * (time.perf_counter() - start))
            cpu_times.append(1e3 * (time.process_time() - cpu_start))
        return {"ms": times, "cpu_ms": cpu_times}
    if words[0] == "outputs":
        return {"outputs": write_outputs(engine.outputs(), words[1].strip())}
    return {"error": f"unknown question: {question.strip()}"}


def main():
    name, model, threads, input_file, input_shape = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
    answers = os.fdopen(os.dup(1), "w", 1)  # engines print to standard output: that goes to the log
    os.dup2(2, 1)

    def say(message):
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        configuration = configurations.by_name(name)
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import numpy
        x = numpy.fromfile(input_file, numpy.float32).reshape([int(d) for d in input_shape.split("x")])
        module = importlib.import_module("engines." + configuration.engine)
        start_bytes, start = memory("VmRSS"), time.perf_counter()
        engine = module.load(model, configuration.options, threads, x)
        load_ms = 1e3 * (time.perf_counter() - start)
        engine.run()
        say({"ready": True, "version": module.version(), "configuration": configuration.name, "precision": engine.precision(),
             "load_ms": load_ms, "start_bytes": start_bytes})
    except BaseException as error:  # whatever the engine raises, exits included, is this contender's answer
        import traceback
        traceback.print_exc()
        say({"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]})
        return
    for line in sys.stdin:
        if line.split() == ["quit"]:
            say({"peak_bytes": memory("VmHWM")})
            answers.flush()
            os._exit(0)  # some engines' threads outlive the interpreter badly
        try:
            say(answer(line, engine))
        except Exception as error:
            say({"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]})
            return


if __name__ == "__main__":
    main()
