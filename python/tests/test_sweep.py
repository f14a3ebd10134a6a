"""Sweeps on Dask: the rows of `laxity run`, whatever happens to workers."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from dask.distributed import Client, LocalCluster

import laxity
from common import AXES, CAMERA, SWEEP, camera, run_by_program


class Local(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        cls.client = Client(cls.cluster)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.close()

    def test_rows_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as directory:
            expected = run_by_program(directory, CAMERA + SWEEP)
        seen = []
        progress = lambda done, total, words: seen.append((done, total))
        results = laxity.sweep(camera(), AXES, client=self.client, progress=progress)
        self.assertEqual(results.to_arrow().to_pylist(), expected.to_pylist())
        self.assertTrue(results.holds)
        self.assertEqual(seen[-1], (6, 6))

    def test_a_lost_worker_loses_nothing(self):
        scenario = camera().with_({"run.time": "20 s"})
        axes = {"seed": list(range(1, 41))}
        killed = []

        def kill_one(done, total, words):
            if not killed:
                pids = self.client.run(os.getpid)
                killed.append(min(pids.values()))
                os.kill(killed[0], signal.SIGKILL)

        results = laxity.sweep(scenario, axes, client=self.client, progress=kill_one)
        self.assertEqual(len(killed), 1)
        self.assertEqual(results.to_json(), scenario.swept(axes).run().to_json())

    def test_an_error_of_a_point_is_raised(self):
        # A scenario of real time, which no worker runs.
        with self.assertRaisesRegex(laxity.Error, "runs in real time"):
            laxity.sweep(camera().with_({"run.clock": "real"}), client=self.client)


#: Names of the namespaces: the scheduler's, and two of workers.
PLACES = [f"lxdask{os.getpid()}{end}" for end in "sab"]


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@unittest.skipUnless(sys.platform == "linux" and shutil.which("ip") and os.geteuid() == 0, "needs root and ip")
class Namespaces(unittest.TestCase):
    """A scheduler and two workers, each with a network of its own, joined by a bridge."""

    def setUp(self):
        self.processes = []
        try:
            for place in PLACES:
                ip("netns", "add", place)
                ip("-n", place, "link", "set", "lo", "up")
            ip("-n", PLACES[0], "link", "add", "bridge", "type", "bridge")
            ip("-n", PLACES[0], "addr", "add", "10.99.0.1/24", "dev", "bridge")
            ip("-n", PLACES[0], "link", "set", "bridge", "up")
            for number, place in enumerate(PLACES[1:], 2):
                ip("-n", PLACES[0], "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth", "netns", place)
                ip("-n", PLACES[0], "link", "set", f"to{number}", "master", "bridge", "up")
                ip("-n", place, "addr", "add", f"10.99.0.{number}/24", "dev", "eth")
                ip("-n", place, "link", "set", "eth", "up")
        except subprocess.CalledProcessError as error:
            self.tearDown()
            self.skipTest(f"namespaces are not permitted: {error.stderr.decode()}")

    def tearDown(self):
        for process in self.processes:
            process.terminate()
            process.wait(20)
        for place in PLACES:
            subprocess.run(["ip", "netns", "del", place], capture_output=True)

    def test_two_workers_in_namespaces_give_the_rows(self):
        address = "tcp://10.99.0.1:8786"
        within = lambda place: ["ip", "netns", "exec", place, sys.executable]
        start = lambda place, *arguments: self.processes.append(
            subprocess.Popen([*within(place), "-m", *arguments], stderr=subprocess.DEVNULL)
        )
        start(PLACES[0], "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard")
        for place in PLACES[1:]:
            start(place, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
        script = (
            "from dask.distributed import Client\n"
            "import laxity\nfrom common import AXES, camera\n"
            f"with Client('{address}', timeout=60) as client:\n"
            "    client.wait_for_workers(2, timeout=60)\n"
            "    hosts = sorted({w['host'] for w in client.scheduler_info()['workers'].values()})\n"
            "    results = laxity.sweep(camera(), AXES, client=client)\n"
            "    print(','.join(hosts))\n    print(results.to_json())\n"
        )
        place = os.path.dirname(os.path.abspath(__file__))
        ran = subprocess.run([*within(PLACES[0]), "-c", script], cwd=place, capture_output=True, text=True, timeout=180)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        hosts, results = ran.stdout.split("\n", 1)
        self.assertEqual(hosts, "10.99.0.2,10.99.0.3")
        self.assertEqual(results.rstrip("\n"), camera().swept(AXES).run().to_json().rstrip("\n"))


if __name__ == "__main__":
    unittest.main()
