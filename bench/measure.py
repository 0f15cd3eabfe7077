"""What the benchmark scripts share: medians, the machine's description, reports."""
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SACCADE = ROOT / "build/release/bin/saccade"


def median(values):
    return statistics.median(values)


def spread(values):
    """The lower and upper quartile."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def machine(saccade=SACCADE):
    """CPU, instruction set and commit of what is measured, for every report."""
    doctor = json.loads(subprocess.run([saccade, "doctor", "--json"], check=True, capture_output=True, text=True).stdout)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True)
    return {
        "cpu": doctor["machine"]["cpu"],
        "isa": doctor["machine"]["isa_used"],
        "cpus": doctor["machine"]["cpus_usable"],
        "ffmpeg": doctor["ffmpeg"]["release"],
        "commit": commit.stdout.strip() or "unknown",
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
    }


def describe(about):
    return f"{about['cpu']}, {about['cpus']} CPUs, {about['isa']}; commit {about['commit']}"


def markdown(header, rows):
    """A table as text that is also Markdown."""
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def write_json(path, report):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")


def run_measured(command, **options):
    """Runs a program to its end; returns (seconds, peak resident bytes). Raises where it fails."""
    seconds, _, peak = run_counted(command, **options)
    return seconds, peak


def run_counted(command, **options):
    """The same with the CPU time in between: (seconds, CPU seconds, peak resident bytes)."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} failed with status {process.returncode}: {' '.join(map(str, command))}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
