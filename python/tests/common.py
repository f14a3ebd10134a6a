"""What the tests share."""

import os
import subprocess

import laxity

#: The program `laxity`.
LAXITY = os.environ["LAXITY"]

CAMERA = """
title = "A camera beside a bulk transfer"
host = { profile = "mc68040" }
adapter = { kind = "null", startup = "40 us", per_byte = "50 ns" }
run = { time = "2 s", warmup = "200 ms" }
[[channel]]
name = "camera"
class = "real_time"
max_message = "16 KiB"
burst = 2
min_interval = "40 ms"
deadline = "30 ms"
source = { kind = "periodic" }
[[channel]]
name = "bulk"
class = "best_effort"
max_message = "60 KiB"
burst = 10
source = { kind = "continuous" }
[[claim]]
id = "on-time"
says = "Every frame is sent by its deadline"
holds = 'runs.all(|r| r.rt.all(|c| c.on_time == 1))'
shows = 'ms(runs[0].channel("camera").worst)'
"""

SWEEP = """
[[sweep]]
name = "speedup"
key = "host.speedup"
values = [1.0, 2.0, 4.0]
[[sweep]]
name = "seed"
key = "seed"
values = [1, 2]
"""

#: The same sweep as Python has it.
AXES = {"host.speedup": [1.0, 2.0, 4.0], "seed": [1, 2]}


def camera(more: str = "") -> laxity.Scenario:
    return laxity.Scenario.parse(CAMERA + more, "camera.toml")


def run_by_program(directory: str, text: str):
    """The rows of `laxity run` as a table of PyArrow."""
    import pyarrow.parquet

    with open(os.path.join(directory, "camera.toml"), "w") as file:
        file.write(text)
    subprocess.run([LAXITY, "run", "camera.toml"], cwd=directory, check=True, capture_output=True)
    return pyarrow.parquet.read_table(os.path.join(directory, "results/camera/results.parquet"))
