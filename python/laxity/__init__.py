"""Delay bounds, simulations and guaranteed channels of hosts, adapters and networks.

    import laxity
    camera = laxity.Scenario.load("camera.toml")
    print(camera.admit())
    results = camera.with_({"channel.camera.deadline": "25 ms"}).run()
    results.plot()

`sweep` runs many points, on Dask if there is a client. `Node` is the client of a running service.
"""

from ._laxity import (
    Channel,
    Error,
    Excess,
    Lost,
    Message,
    Node,
    Queue,
    Refused,
    ScenarioError,
    __version__,
)
from ._receive import receive
from ._results import Admission, Attack, Results, Verdict
from ._scenario import Fix, Fixes, Scenario
from ._sweep import sweep

__all__ = [
    "Admission",
    "Attack",
    "Channel",
    "Error",
    "Excess",
    "Fix",
    "Fixes",
    "Lost",
    "Message",
    "Node",
    "Queue",
    "Refused",
    "Results",
    "Scenario",
    "ScenarioError",
    "Verdict",
    "__version__",
    "receive",
    "sweep",
]
