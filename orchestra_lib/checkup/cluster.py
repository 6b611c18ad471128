"""A Ray cluster: whether it can be had at all, and where an address is given whether it answers."""

from importlib import import_module
from typing import Any

from orchestra_lib.checkup.finding import Finding, fail, ok
from orchestra_lib.engine.cluster import Where, cluster
from orchestra_lib.errors import OrchestraError


def ray_at(address: str) -> Finding:
    """Join the cluster at an address, and leave it again."""
    try:
        with cluster(Where(address=address)) as cpus:
            ray: Any = import_module("ray")  # cluster() has seen that it is there
            nodes = sum(bool(node["Alive"]) for node in ray.nodes())
            return ok("ray", f"{address}: {nodes} nodes, {cpus} CPUs, Ray {ray.__version__}")
    except OrchestraError as error:
        return fail("ray", str(error))
