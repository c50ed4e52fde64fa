"""scripts/experiments/train_in_order.py: what is trained is what was emitted, to the digit, or is refused."""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

try:
    import torch
except ImportError:
    torch = None

from data import PROGRAM, make

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "experiments"))
import train_in_order as training  # noqa: E402

COUNT, EPOCHS, TESTED = 300, 2, 200
CELL = ["--order", "lba,random", "--merge", "none", "--shuffle", "buffer", "--window", "20%", "--batch", "16", "--epochs", str(EPOCHS)]


@unittest.skipIf(torch is None, "no torch")
class Trained(unittest.TestCase):
    """`self.home`: two runs and their emissions, made once; each test has a copy of its own."""

    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp(prefix="blksweep-test-"))
        make(cls.made / "data", "4KiB", COUNT)
        cls.call("catalog", "data", "-o", "data.cat")
        (cls.made / "emissions").mkdir()
        cls.call("run", "--catalog", "data.cat", *CELL, "--no-probe", "--no-ceiling", "--db", "results.db", "--emission", "emissions/%c-%r.npy")
        cls.planned = json.loads(cls.call("plan", "data.cat", *CELL, "--emission", "plan-%c.npy", "--json"))["plans"]

    @classmethod
    def call(cls, *command):
        return subprocess.run([PROGRAM, "--quiet", *command], cwd=cls.made, check=True, capture_output=True, text=True).stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.made)

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="blksweep-test-"))
        self.addCleanup(shutil.rmtree, self.home)
        shutil.copytree(self.made, self.home, dirs_exist_ok=True)

    def train(self, jobs="2", tested=TESTED):
        """(exit status, stderr, rows of the result)."""
        out = self.home / "out.csv"
        done = subprocess.run([sys.executable, training.__file__, self.home / "results.db", self.home / "emissions", out, "--count", str(COUNT),
                               "--test-images", str(tested), "--jobs", jobs], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr, list(csv.DictReader(out.read_text().splitlines())) if out.exists() else []

    def altered(self, change):
        """Writes one of the emissions anew; its name."""
        path = self.home / "emissions/2-0.npy"
        numpy.save(path, change(numpy.load(path)))
        return path.name

    def refused(self, *words):
        code, said, rows = self.train()
        self.assertEqual((code, rows), (1, []), said)
        self.assertEqual(said.count("\n"), 1, said)
        for word in words:
            self.assertIn(word, said)

    def test_trains_in_the_order_that_plan_says_and_again_to_the_digit(self):
        code, said, rows = self.train()
        self.assertEqual(code, 0, said)
        hashes = {plan["emission_hash"] for plan in self.planned}
        self.assertEqual({(r["emission_hash"], r["net"]) for r in rows}, {(h, net) for h in hashes for net in training.RATE})
        self.assertEqual(self.train()[1:], ("", rows))  # nothing is trained twice
        (self.home / "out.csv").unlink()
        self.assertEqual(self.train(jobs="1")[2], rows)

    def test_the_optimiser_sees_each_batch_of_the_plan_as_it_is(self):
        order = numpy.load(self.home / "plan-1.npy")
        for kind in training.RATE:
            _, net, trained = training.train(kind, order, 1, TESTED)
            self.assertEqual(trained.tolist(), order["sample"].tolist())
            self.assertEqual(training.order_hash(trained), self.planned[0]["emission_hash"])
            weights = [p.detach().numpy().tobytes() for p in net.parameters()]
            again = [p.detach().numpy().tobytes() for p in training.train(kind, order, 1, TESTED)[1].parameters()]
            self.assertEqual(weights, again)
            turned = order.copy()
            turned["sample"][:16] = order["sample"][16:32]
            turned["label"][:16] = order["label"][16:32]
            turned["sample"][16:32] = order["sample"][:16]
            turned["label"][16:32] = order["label"][:16]
            other = [p.detach().numpy().tobytes() for p in training.train(kind, turned, 1, TESTED)[1].parameters()]
            self.assertNotEqual(weights, other)  # two batches in another order
        sizes = [len(b) for b in training.batches(order)]
        self.assertEqual(sizes, [16] * 18 + [12] + [16] * 18 + [12])  # a batch never spans epochs

    def test_an_emission_that_misses_a_sample_is_refused(self):
        name = self.altered(lambda order: order[order["place"] != COUNT + 7])
        lost = numpy.load(self.made / "emissions/2-0.npy")["sample"][COUNT + 7]
        self.refused(name, f"epoch 1 lacks sample {lost}", "1 of 300", "measure that run again")

    def test_an_emission_without_its_last_epoch_or_sample_is_refused(self):
        self.altered(lambda order: order[order["epoch"] == 0])
        self.refused("no emission", "has its order", "measure again")
        self.altered(lambda order: order[order["sample"] != COUNT - 1])
        self.refused(f"lacks sample {COUNT - 1}")

    def test_an_emission_with_a_sample_twice_is_refused(self):
        def twice(order):
            order["sample"][0] = order["sample"][1]
            return order
        self.altered(twice)
        self.refused("epoch 0", "are not there once")

    def test_what_was_trained_otherwise_is_not_taken_for_this(self):
        rows = self.train()[2]
        code, said, kept = self.train(tested=TESTED + 10)
        self.assertEqual((code, kept), (1, rows))
        self.assertIn(f"tested with {TESTED} images, not 38 and {TESTED + 10}: remove it", said)

        def halves(order):
            order["batch"] = numpy.arange(len(order)) // 8
            return order
        self.altered(halves)
        code, said, kept = self.train()
        self.assertEqual((code, kept), (1, rows))
        self.assertIn("in 38 steps, tested with 200 images, not 75 and 200: remove it", said)

    def test_whoever_has_nothing_to_train_ends_however_often(self):
        text = ("import argparse, pathlib, signal, sys, train_in_order\n"
                "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
                "for _ in range(80):\n"
                "    train_in_order.train_all([], argparse.Namespace(out=pathlib.Path('out.csv'), jobs=2))")
        subprocess.run([sys.executable, "-c", text], cwd=self.home, env={"PYTHONPATH": str(pathlib.Path(training.__file__).parent)},
                       check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_one_order_in_batches_of_two_sizes_is_refused(self):
        order = numpy.load(self.home / "emissions/2-0.npy")
        order["batch"] //= 2
        numpy.save(self.home / "emissions/3-0.npy", order)
        self.refused("one order in", "folders of their own")

    def test_an_empty_emission_is_refused(self):
        self.altered(lambda order: order[:0])
        self.refused("epoch 0 lacks sample 0")

    def test_a_run_in_another_order_than_its_emission_is_refused(self):
        self.altered(lambda order: order[::-1].copy())
        self.refused("no emission", "has its order")


if __name__ == "__main__":
    unittest.main()
