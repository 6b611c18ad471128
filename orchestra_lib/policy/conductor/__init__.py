"""The conductor: the offline default orchestrator."""

from orchestra_lib.policy.conductor.estimator import Estimator
from orchestra_lib.policy.conductor.examples import load_examples
from orchestra_lib.policy.conductor.policy import Conductor

__all__ = ["Conductor", "Estimator", "load_examples"]
