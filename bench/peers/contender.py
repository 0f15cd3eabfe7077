"""One contender of a comparison: a process that has loaded a model and runs it when asked.

The protocol, over its standard input and output, one line a message, answers in JSON:

    (started)       {"ready": true, "version": …, "configuration": …, "precision": …, "load_ms": …, "start_bytes": …}
                    or {"error": …}
    run N           {"ms": [N times], "cpu_ms": [N times]}: passed on the clock, and worked by all threads of the process
    outputs FILE    {"outputs": [{"dtype": …, "shape": […]}, …]}: all outputs of the last run, row-major, one after another in FILE
    quit            {"peak_bytes": …}

bench/peers/resident.cpp speaks it for Saccade, bench/peers/serve.py for the others.

A contender that is not asked is stopped (SIGSTOP): engines let their threads spin for a while after a run, which would slow down
whoever comes next.
"""
import ctypes
import json
import signal
import subprocess

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


class ContenderError(RuntimeError):
    """What a contender could not do, in its own words."""


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a stopped process would not see its input end


class Contender:
    """A running contender; stopped between questions. What it prints beside the protocol goes to the log file."""

    def __init__(self, name, command, log, environment=None):
        self.name = name
        self.log = log
        with open(log, "w") as sink:
            self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=sink, text=True, env=environment, preexec_fn=die_with_parent)
        try:
            self.info = self._answer()
        except ContenderError:
            self.kill()
            raise
        self._stop()

    def _stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise ContenderError(f"ended with status {status}: {last_line(self.log)}")
        answer = json.loads(line)
        if "error" in answer:
            raise ContenderError(answer["error"])
        return answer

    def _ask(self, question):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing answer says how it ended
        answer = self._answer()
        self._stop()
        return answer

    def burst(self, runs, clock="ms"):
        """Milliseconds of each of `runs` consecutive runs; `clock` may be cpu_ms."""
        return self._ask(f"run {runs}")[clock]

    def outputs(self, path):
        """Writes the outputs of the last run; returns their types and shapes."""
        return self._ask(f"outputs {path}")["outputs"]

    def quit(self):
        """Ends it; returns its peak memory in bytes."""
        answer = self._ask("quit")
        self.process.send_signal(signal.SIGCONT)
        self.process.wait()
        return answer["peak_bytes"]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()  # also reaches a stopped process
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def last_line(path):
    with open(path, errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
