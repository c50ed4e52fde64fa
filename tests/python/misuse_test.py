"""Whatever a caller does, it is an answer or an error: no crash, and never bytes of another sample."""
import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import blksweep
from data import CASES, PROGRAM, DataTest, indices

USUAL = (blksweep.HeldError, RuntimeError, ValueError, IndexError, StopIteration)


class Sequences(DataTest):
    """Random calls, of which all that is held is compared with the files again and again."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        gc.freeze()  # collect() looks at what these tests make, not at all of PyTorch
        cls.addClassCleanup(gc.unfreeze)

    def setUp(self):
        self.loader_, self.iterator, self.batch, self.kept, self.saved = self.loader(), None, None, [], None

    def do(self, rng):
        action = rng.choice(("next",) * 6 + ("keep",) * 4 + ("drop", "drop", "release", "index", "iterate", "close", "state", "load", "stats",
                                                             "anew", "collect", "whole", "epoch"))
        getattr(self, action)(rng)

    def next(self, _):
        if self.iterator is None:
            self.iterator = iter(self.loader_)
        self.batch = next(self.iterator)

    def keep(self, rng):
        if self.batch is not None:
            i = rng.randrange(len(self.batch))
            self.kept.append((int(self.batch.indices[i]), self.batch[i] if rng.random() < 0.5 else memoryview(self.batch[i])[:]))

    def whole(self, _):
        if self.batch is not None:
            self.batch.concat()
            self.batch.stack()

    def drop(self, rng):
        del self.kept[:rng.randint(0, len(self.kept))]

    def release(self, _):
        if self.batch is not None:
            self.batch.release()
            self.batch.release()

    def index(self, rng):
        if self.batch is not None:
            self.batch[rng.randint(-40, 40)]

    def iterate(self, _):
        self.iterator = iter(self.loader_)

    def close(self, _):
        self.loader_.close()

    def state(self, _):
        self.saved = self.loader_.state_dict()

    def load(self, _):
        if self.saved is not None:
            self.loader_.load_state_dict(self.saved)

    def stats(self, _):
        self.loader_.stats()

    def epoch(self, rng):
        self.loader_.set_epoch(rng.randint(0, 3))

    def anew(self, rng):
        self.loader_ = self.loader(prefetch=rng.randint(1, 4), batch_size=rng.randint(1, 40))
        self.iterator = None

    def collect(self, _):
        gc.collect()

    def test_never_crash_or_show_other_bytes(self):
        errors = 0
        for case in range(5 * CASES):
            rng = random.Random(case)
            self.setUp()
            for _ in range(40):
                try:
                    self.do(rng)
                except USUAL:
                    errors += 1
                for index, view in self.kept:
                    self.assertEqual(bytes(view), self.bytes_of(index))
        self.assertGreater(errors, 0)


def script(folder, text):
    """A program of its own that has `folder` and `loader`; (status, stdout, stderr)."""
    head = f"import blksweep, gc, os, signal, sys, threading\nfolder = {folder!r}\nloader = blksweep.Loader(folder, batch_size=8)\n"
    ran = subprocess.run([sys.executable, "-c", head + textwrap.dedent(text)], capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout.strip(), ran.stderr


class Processes(DataTest):
    def expect(self, text, out, status=0):
        self.assertEqual(script(self.folder, text)[:2], (status, out), script(self.folder, text)[2])

    def test_batches_that_are_kept_are_an_error_in_the_end(self):
        kept = []
        with self.assertRaisesRegex(blksweep.HeldError, "copy what is kept, or use a larger prefetch"):
            for batch in self.loader():
                kept.append(batch[0])
        self.assertIsInstance(blksweep.HeldError(), BufferError)

    def test_decoded_batches_that_are_kept_do_not_hang(self):
        packed = os.path.join(self.temp, "packed")
        subprocess.run([PROGRAM, "--quiet", "dataset", "pack", self.folder, "-o", packed, "--layout", "files", "--compress", "zstd"], check=True,
                       stdout=subprocess.DEVNULL)
        for options in ({}, {"prefetch": 9}, {"prefetch": 0}, {"shuffle": "reservoir", "window": "20%", "decode_threads": 2}):
            kept, delivered = [], 0
            with self.assertRaisesRegex(blksweep.HeldError, "copy what is kept"):
                for batch in blksweep.Loader(packed, **{"order": "path", "batch_size": 16, "decode_threads": 1, **options}):
                    kept.append(batch[0])
                    delivered += 1
            self.assertEqual(delivered, 1 if options.get("prefetch") == 0 else 2)

    def test_a_loop_that_another_one_ended_does_not_look_whole(self):
        loader = self.loader()
        for pair in (lambda: [sum(len(b) for b in loader) for _ in loader], lambda: list(zip(loader, loader))):
            with self.assertRaisesRegex(RuntimeError, "another loop"):
                pair()
        self.assertEqual(sorted(indices(loader)), list(range(len(loader.catalog))))

    def test_a_released_batch_says_so(self):
        iterator = iter(self.loader())
        batch, array = next(iterator), None
        array = batch[0]
        expected = array.tobytes()
        next(iterator)
        with self.assertRaisesRegex(ValueError, "batch 0 was released"):
            batch[0]
        self.assertEqual(array.tobytes(), expected)
        with self.assertRaises(ValueError):
            array[0] = 1

    def test_end_of_the_interpreter_in_the_middle(self):
        self.expect("it = iter(loader); batch = next(it); print(len(batch)); keep = batch[0]", "8")
        self.expect("it = iter(loader); batch = next(it); sys.exit(5)", "", 5)
        self.expect("""
            it = iter(loader); batch = next(it); array = batch[0]
            del it, batch, loader
            gc.collect()
            print(array.nbytes > 0)""", "True")

    def test_exceptions_in_the_loop_leave_a_loader_that_works(self):
        loader = self.loader()
        with self.assertRaises(ZeroDivisionError):
            for _ in loader:
                raise ZeroDivisionError
        self.assertEqual(len(indices(loader)), 300)

    def test_a_fork_is_refused_in_the_child_only(self):
        self.expect("""
            it = iter(loader); batch = next(it); array = batch[0]
            pid = os.fork()
            if pid == 0:
                try:
                    next(it)
                except blksweep.ForkedError as e:
                    print('child:', str(e)[:40], flush=True)
                del it, batch, array
                gc.collect()
                print(sum(len(b) for b in blksweep.Loader(folder)), flush=True)
                sys.exit(0)
            os.waitpid(pid, 0)
            del array
            print(8 + sum(len(b) for b in it))""", "child: this loader was started before a fork, a\n300\n300")

    # The first arrays of a process, by several threads at once: each used to wait for the other one's import of NumPy.
    def test_a_second_thread_is_refused_or_served(self):
        self.expect("""
            seen, errors = [], []
            it = iter(loader)
            def read():
                try:
                    for batch in it: seen.extend(batch.indices.tolist())
                except (RuntimeError, ValueError) as e: errors.append(e)
            threads = [threading.Thread(target=read) for _ in range(4)]
            [t.start() for t in threads]; [t.join() for t in threads]
            print(len(seen) == len(set(seen)))""", "True")

    def test_interrupt_wakes_a_loop_that_waits(self):
        text = f"""
import blksweep, sys, time
loader = blksweep.Loader({self.folder!r}, batch_size=1, epochs=1000)
print('ready', flush=True)
try:
    for batch in loader: time.sleep(0.001)
except KeyboardInterrupt:
    print('interrupted', flush=True)
    print(len(loader) > 0)
"""
        # A shell has SIGINT ignored by what it starts in the background.
        child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        child.stdout.readline()
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=30)[0].split(), ["interrupted", "True"])
        self.assertEqual(child.returncode, 0)

    @unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "the sanitizer keeps what is freed")
    def test_memory_does_not_grow_over_epochs(self):
        _, out, err = script(self.folder, """
            def rss(): return int(open('/proc/self/statm').read().split()[1]) * 4096
            def epochs(n):
                for _ in range(n):
                    for batch in loader: batch[0]; batch.concat()
            epochs(10); first = rss(); epochs(50); print(rss() - first)""")
        self.assertLess(int(out), 4 << 20, err)


if __name__ == "__main__":
    unittest.main()
