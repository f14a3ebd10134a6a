"""Long work: progress, other threads, Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from common import SWEEP, camera


class Work(unittest.TestCase):
    def test_progress_reaches_the_end(self):
        seen = []
        camera(SWEEP).run(progress=lambda done, total, words: seen.append((done, total)))
        self.assertEqual(seen, sorted(seen))
        self.assertLessEqual(seen[-1], (6, 6))
        self.assertEqual(seen[-1][1], 6)

    def test_an_exception_of_the_callback_ends_the_run(self):
        def fail(*_):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            camera(SWEEP).with_({"run.time": "1000 s"}).run(progress=fail)

    def test_other_threads_run_meanwhile(self):
        ticks, over = [], threading.Event()

        def tick():
            while not over.wait(0.01):
                ticks.append(time.monotonic())

        other = threading.Thread(target=tick)
        other.start()
        begun = time.monotonic()
        camera().with_({"run.time": "300 s"}).run(threads=1)
        took = time.monotonic() - begun
        over.set()
        other.join()
        self.assertGreater(len(ticks), took / 0.01 / 10)

    def test_ctrl_c_ends_a_run_in_the_middle_of_a_point(self):
        script = (
            "from common import camera\n"
            "scenario = camera().with_({'run.time': '1000000 s'})\n"
            "print('running', flush=True)\n"
            "try:\n    scenario.run()\n"
            "except KeyboardInterrupt:\n    print('stopped')\n"
        )
        place = os.path.dirname(os.path.abspath(__file__))
        child = subprocess.Popen([sys.executable, "-c", script], cwd=place, stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "running\n")
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=30)
        self.assertEqual((output, child.returncode), ("stopped\n", 0))


if __name__ == "__main__":
    unittest.main()
