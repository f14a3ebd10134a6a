"""Scenarios: read, changed, asked, and wrong."""

import os
import pickle
import tempfile
import unittest

import laxity
from common import AXES, CAMERA, SWEEP, camera


class Scenarios(unittest.TestCase):
    def test_a_change_is_seen_by_admission(self):
        plain = camera()
        self.assertEqual(plain.channels, ["camera", "bulk"])
        self.assertEqual((plain.points, plain.axes, plain.seed), ([""], {}, 1))
        self.assertTrue(plain.admit().admitted)
        self.assertLess(plain.admit().bound("camera"), 0.030)
        tight = plain.with_({"channel.camera.deadline": "1 ms"})
        self.assertFalse(tight.admit().admitted)
        self.assertEqual(tight.admit().rows[0]["verdict"], "refused")
        self.assertNotEqual(tight.hash, plain.hash)
        again = tight.with_({"channel.camera.deadline": "30 ms"})
        self.assertTrue(again.admit().admitted, "a later change wins")
        self.assertTrue(plain.admit().admitted, "and the first scenario stays as it was")

    def test_values_of_python_are_values_of_a_scenario(self):
        changes = {"seed": 7, "host.speedup": 2.5, "channel.camera.source": {"kind": "periodic", "phase": "1 ms"}}
        self.assertEqual(camera().with_(changes).seed, 7)
        with self.assertRaisesRegex(TypeError, "no value of the type set"):
            camera().with_({"seed": {1}})
        with self.assertRaisesRegex(laxity.ScenarioError, "no channel `film`"):
            camera().with_({"channel.film.deadline": "1 ms"})

    def test_errors_have_a_place(self):
        with self.assertRaises(laxity.ScenarioError) as caught:
            laxity.Scenario.parse(CAMERA.replace("deadline", "dedline"), "camera.toml")
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column), ("camera.toml", 12, 1))
        self.assertIn("did you mean `deadline`", str(error))
        self.assertEqual(error.findings[0]["start"], {"line": 12, "column": 1})
        with self.assertRaises(laxity.ScenarioError) as caught:
            laxity.Scenario.load("missing.toml")
        self.assertEqual((caught.exception.file, caught.exception.line), ("missing.toml", None))

    def test_a_sweep_has_axes_and_points(self):
        swept = camera().swept(AXES)
        self.assertEqual(swept.axes, {"speedup": ["1.0", "2.0", "4.0"], "seed": ["1", "2"]})
        self.assertEqual(swept.points, camera(SWEEP).points)
        named = camera().swept({"fast": {"key": "host.speedup", "values": [8.0, 9.0]}})
        self.assertEqual(named.points, ["fast = 8.0", "fast = 9.0"])
        twice = camera().swept({"channel.camera.burst": [1, 2], "channel.bulk.burst": [3, 4]})
        self.assertEqual(list(twice.axes), ["burst", "channel-bulk-burst"])
        with self.assertRaisesRegex(laxity.ScenarioError, "sets `host.speedup` too"):
            swept.with_({"host.speedup": 3.0})

    def test_a_pickled_scenario_needs_no_file(self):
        with tempfile.TemporaryDirectory() as directory:
            place = os.path.join(directory, "camera.toml")
            with open(place, "w") as file:
                file.write(CAMERA.replace('profile = "mc68040"', 'profile = "own.toml"'))
            with open(os.path.join(directory, "own.toml"), "w") as file:
                file.write(laxity_profile())
            scenario = laxity.Scenario.load(place).with_({"seed": 3}).swept({"host.speedup": [1.0, 2.0]})
            packed = pickle.dumps(scenario)
        unpacked = pickle.loads(packed)
        self.assertEqual((unpacked.hash, unpacked.points, unpacked.seed), (scenario.hash, scenario.points, 3))
        self.assertEqual(unpacked.run().to_json(), scenario.run().to_json())

    def test_a_refused_channel_has_a_fix(self):
        tight = camera().with_({"channel.camera.deadline": "1 ms"})
        fixes = tight.fix()
        self.assertEqual(fixes.lacking, 1)
        self.assertGreater(len(fixes), 0)
        for fix in fixes:
            self.assertTrue(fix.apply().admit().admitted, fix)
        self.assertEqual(len(camera().fix()), 0)

    def test_an_attack_stays_below_the_bound(self):
        found = camera().attack(steps=60)
        self.assertFalse(found.exceeds)
        self.assertEqual([row["channel"] for row in found.rows], ["camera"])
        self.assertGreater(found.rows[0]["worst"], 0)
        self.assertEqual(found.rows, camera().attack(steps=60, threads=1).rows)
        self.assertIn("no channel called", camera().attack(channel="film").rows[0]["not_attacked"])


def laxity_profile() -> str:
    """The profile of the camera's host, from the repository."""
    root = os.path.join(os.path.dirname(__file__), "../..")
    with open(os.path.join(root, "profiles/mc68040.toml")) as file:
        return file.read()


if __name__ == "__main__":
    unittest.main()
