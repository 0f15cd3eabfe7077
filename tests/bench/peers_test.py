"""bench/peers/run.py without peers: peers_test.py SOURCE RESIDENT SACCADE WRITER

The runner drives Saccade's contender through the whole protocol, contenders that misbehave become rows with a reason, and the report
and its tables come out whole.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, RESIDENT, SACCADE, WRITER = map(pathlib.Path, sys.argv[1:5])
sys.path[:0] = [str(SOURCE / "bench/peers"), str(SOURCE / "bench")]
sys.dont_write_bytecode = True

import configurations
import networks
import report
import run
from contender import Contender, ContenderError

SCRIPT = r"""
import json, sys
print(json.dumps({"ready": True, "load_ms": 1.0}), flush=True)
for line in sys.stdin:
    BODY
"""


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.model = self.path / "tiny.onnx"
        subprocess.run([WRITER, self.model], check=True)

    def tearDown(self):
        self.folder.cleanup()

    def run_script(self, *options, resident=RESIDENT):
        file = self.path / "report.json"
        command = [sys.executable, "-B", SOURCE / "bench/peers/run.py", "--model", self.model, "--shape", "1x3x8x6", "--engines", "", "--rounds", "2",
                   "--burst", "0.001", "--warm-up", "0.001", "--folder", self.path, "--resident", resident, "--saccade", SACCADE,
                   "--json", file, *options]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        return done, json.loads(file.read_text()) if done.returncode == 0 else None

    def test_measures_saccade_alone(self):
        done, written = self.run_script("--threads", "1,2", "--classes", "fp32")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(g["network"], g["threads"], g["class"]) for g in written["results"]], [("tiny", 1, "fp32"), ("tiny", 2, "fp32")])
        for group in written["results"]:
            (ours,) = group["contenders"]
            self.assertEqual(len(ours["rounds_ms"]), 2)
            self.assertGreaterEqual(ours["runs"], 2)
            self.assertIn("fp32", ours["precision"]["multiply_adds"])
            for key in ("median_ms", "quartiles_ms", "load_ms", "peak_bytes", "start_bytes"):
                self.assertIn(key, ours)
            self.assertGreaterEqual(ours["peak_bytes"], ours["start_bytes"])
        self.assertIn("| tiny.onnx", done.stdout)

    def test_measures_cpu_time(self):
        done, written = self.run_script("--threads", "1", "--classes", "fp32", "--clock", "cpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(written["results"][0]["clock"], "cpu")
        self.assertIn("(CPU time)", done.stdout)

    def test_append_replaces_the_same_and_keeps_the_others(self):
        self.run_script("--threads", "1", "--classes", "fp32")
        done, written = self.run_script("--threads", "2", "--classes", "fp32", "--append")
        self.assertEqual([g["threads"] for g in written["results"]], [1, 2], done.stderr)
        done, written = self.run_script("--threads", "1", "--classes", "fp32", "--append", "--rounds", "3")
        self.assertEqual([(g["threads"], g["rounds"]) for g in written["results"]], [(2, 2), (1, 3)], done.stderr)

    def test_what_does_not_load_is_a_row_with_its_reason(self):
        self.model.write_bytes(b"no model at all")
        done, written = self.run_script("--threads", "1", "--classes", "fp32")
        self.assertEqual(done.returncode, 0, done.stderr)
        (ours,) = written["results"][0]["contenders"]
        self.assertIn("tiny.onnx", ours["reason"])
        self.assertNotIn("median_ms", ours)
        self.assertIn(ours["reason"], done.stdout)

    def test_unknown_names_are_refused(self):
        for options in (("--classes", "fp31"), ("--engines", "abacus"), ("--shape", "1x3"), ("--rounds", "0"), ("--clock", "cpu", "--threads", "2")):
            done, _ = self.run_script(*options)
            self.assertEqual(done.returncode, 2, options)

    def contender(self, body):
        script = self.path / "contender.py"
        script.write_text(SCRIPT.replace("BODY", body))
        return Contender("test", [sys.executable, script], self.path / "log")

    def test_a_contender_that_dies_says_its_last_words(self):
        contender = self.contender("sys.exit('out of paper')")
        with self.assertRaisesRegex(ContenderError, "status 1: out of paper"):
            contender.burst(1)
        contender.kill()

    def test_a_contender_may_refuse(self):
        contender = self.contender("print(json.dumps({'error': 'not today'}), flush=True)")
        with self.assertRaisesRegex(ContenderError, "not today"):
            contender.burst(1)
        contender.kill()

    def test_contenders_stand_still_between_bursts(self):
        contender = self.contender("print(json.dumps({'ms': [1.0]}), flush=True)")
        contender.burst(1)
        for _ in range(1000):  # the signal may take a moment
            state = pathlib.Path(f"/proc/{contender.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "T":
                break
        self.assertEqual(state, "T")
        self.assertEqual(contender.burst(1), [1.0])
        contender.kill()


class Tables(unittest.TestCase):
    GROUP = {"network": "n", "title": "N", "threads": 1, "class": "fp32", "cap": None, "contenders": [
        {"engine": "saccade", "class": "fp32", "setting": "default", "median_ms": 2.0, "quartiles_ms": [1.9, 2.1], "rounds_ms": [2.0, 1.0, 4.0],
         "load_ms": 5, "precision": {"multiply_adds": {"fp32": 1.0}}},
        {"engine": "open_vino", "class": "fp32", "setting": "latency", "median_ms": 3.0, "quartiles_ms": [3, 3], "rounds_ms": [3.0, 3.0, 4.0],
         "load_ms": 7, "precision": {"steps": {"f32": 9}, "kernels": []}, "max_error": 1e-6, "same_class": 1.0},
        {"engine": "ncnn_net", "class": "fp32", "setting": "winograd", "median_ms": 4.0, "quartiles_ms": [4, 4], "rounds_ms": [4.0, 4.0, 4.0]},
        {"engine": "litert", "class": "fp32", "setting": "xnnpack", "reason": "reads TFLite only"}]}

    def test_the_ratio_is_the_median_over_rounds(self):
        ours, peer = report.best_peer(self.GROUP)
        self.assertEqual(peer["engine"], "open_vino")
        self.assertEqual(report.ratio_cell(ours, peer), "1.50 (1.00-3.00)")

    def test_every_contender_has_a_row(self):
        ours, _ = report.best_peer(self.GROUP)
        rows = [report.contender_row(self.GROUP, ours, entry) for entry in self.GROUP["contenders"]]
        self.assertEqual([row[3] for row in rows], ["Saccade", "OpenVINO", "ncnn", "LiteRT"])
        self.assertEqual(rows[3][-1], "reads TFLite only")
        self.assertEqual(rows[1][7:10], ["f32 ×9", "1.0e-06", "100.000 %"])

    def test_every_engine_has_configurations_or_a_reason_for_each_class(self):
        for engine in configurations.ENGINES:
            for kind in configurations.KINDS:
                some = any(c.engine == engine and c.kind == kind for c in configurations.CONFIGURATIONS)
                self.assertNotEqual(some, (engine, kind) in configurations.LACKING, (engine, kind))

    def test_every_engine_has_a_module(self):
        for engine in configurations.ENGINES:
            self.assertTrue((SOURCE / f"bench/peers/engines/{engine}.py").is_file(), engine)


class Cap(unittest.TestCase):
    def test_kernels_beyond_avx2_are_noticed(self):
        self.assertIsNone(run.kernels_beyond({"precision": None}))
        self.assertIsNone(run.kernels_beyond({"precision": {"steps": {}, "kernels": ["jit_avx2_f32"]}}))
        self.assertEqual(run.kernels_beyond({"precision": {"kernels": ["jit_avx2_f32", "brgconv_avx512_f32"]}}), "brgconv_avx512_f32")


class Inputs(unittest.TestCase):
    def test_a_photograph_is_shrunk_by_averaging(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "p.ppm"
            pixels = bytes([10, 0, 0, 30, 0, 0, 0, 10, 0, 0, 50, 0]) * 2  # the first byte looks like a line's end
            file.write_bytes(b"P6\n4 2\n255\n" + pixels)
            shrunk = [round(255 * value, 4) for value in networks.photograph(file, 1, 2)]
            file.write_bytes(b"P5\n4 2\n255\n" + pixels)
            with self.assertRaisesRegex(ValueError, "not a binary PPM"):
                list(networks.photograph(file, 1, 2))
        self.assertEqual(shrunk, [20, 0, 0, 0, 30, 0])

    def test_both_orders_hold_the_same_numbers(self):
        network = networks.Network("n", "N", (1, 3, 5, 4), "normalised")
        with tempfile.TemporaryDirectory() as folder:
            files = networks.write_input(network, pathlib.Path(folder))
            last, planes = (networks.array.array("f", files[order][0].read_bytes()) for order in ("nhwc", "nchw"))
        self.assertEqual(files["nhwc"][1], "1x5x4x3")
        for c in range(3):
            self.assertEqual(last[c::3], planes[20 * c:20 * (c + 1)])
        self.assertGreater(len(set(last)), 50)

    def test_calibration_is_on_the_networks_own_pictures(self):
        network = networks.Network("n", "N", (1, 3, 1, 2), "picture", calibration="pictures")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.assertIsNone(networks.write_calibration(network, folder, folder))
            (folder / "pictures").mkdir()
            for k in (1, 0):
                (folder / f"pictures/{k}.ppm").write_bytes(b"P6\n2 1\n255\n" + bytes([51 * k, 51, 102, 51 * k, 153, 204]))
            values = networks.array.array("f", networks.write_calibration(network, folder, folder).read_bytes())
        self.assertEqual([round(5 * v) for v in values], [0, 0, 1, 3, 2, 4] + [1, 1, 1, 3, 2, 4])
        self.assertNotIn("unet64_shapes", [n.name for n in networks.BY_DEFAULT])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
