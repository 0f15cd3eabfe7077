"""Contenders of the benchmarks: each a process that loads one model and then runs bursts when asked, so that rounds of several
contenders can interleave at a fine grain.

The protocol, over standard input and output, one JSON object a line: a contender first says {"ready": true, "version": …} or
{"error": …}; to "run N" it answers {"ms": [N times]}; to "quit" it ends. bench/resident.cpp speaks it for Saccade; this file,
run as a program, speaks it for the others:

    peers.py onnxruntime|litert MODEL THREADS
"""
import json
import os
import subprocess
import sys
import time


class Contender:
    """A running contender. Its diagnostics go to the log file."""

    def __init__(self, name, command, log):
        self.name = name
        self.command = command
        with open(log, "w") as sink:
            self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=sink, text=True)
        self.log = log
        self.info = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with status {self.process.wait()}; see {self.log}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        return answer

    def burst(self, runs):
        """Milliseconds of each of `runs` consecutive runs."""
        self.process.stdin.write(f"run {runs}\n")
        self.process.stdin.flush()
        return self._answer()["ms"]

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()


def random_input(shape):
    import numpy
    return numpy.random.default_rng(7).random(shape, dtype=numpy.float32)


def load_onnxruntime(model, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()  # no allocation and no copy from run to run
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in value.shape]
        binding.bind_ortvalue_input(value.name, onnxruntime.OrtValue.ortvalue_from_numpy(random_input(shape)))
    for value in session.get_outputs():
        binding.bind_output(value.name)
    session.run_with_iobinding(binding)
    shapes = [v.shape() for v in binding.get_outputs()]
    for value, shape in zip(session.get_outputs(), shapes):
        import numpy
        binding.bind_ortvalue_output(
            value.name, onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(shape, numpy.float32)))
    return lambda: session.run_with_iobinding(binding), onnxruntime.__version__


def load_litert(model, threads):
    from importlib.metadata import version
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model, num_threads=threads)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], random_input(detail["shape"]))
    return interpreter.invoke, version("ai-edge-litert")


def serve(engine, model, threads):
    answers = os.fdopen(os.dup(1), "w", 1)  # engines print to standard output: that goes to the log
    os.dup2(2, 1)

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        run, version = {"onnxruntime": load_onnxruntime, "litert": load_litert}[engine](model, threads)
        run()
        say({"ready": True, "version": version})
    except Exception as error:  # whatever the engine raises is this contender's answer
        say({"error": repr(error)})
        return
    for line in sys.stdin:
        words = line.split()
        if words[:1] != ["run"]:
            return
        times = []
        for _ in range(int(words[1])):
            start = time.perf_counter()
            run()
            times.append(1e3 * (time.perf_counter() - start))
        say({"ms": times})


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
