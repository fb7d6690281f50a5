"""rdf_kgeval: how much of this knowledge graph is true?

The names below are loaded on first use (PEP 562), so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdf_kgeval.beliefs import Beliefs as Beliefs
    from rdf_kgeval.coupling import CouplingGraph as CouplingGraph
    from rdf_kgeval.coupling import couple as couple
    from rdf_kgeval.endpoint import Credentials as Credentials
    from rdf_kgeval.endpoint import Endpoint as Endpoint
    from rdf_kgeval.errors import EndpointError as EndpointError
    from rdf_kgeval.errors import InputError as InputError
    from rdf_kgeval.errors import KgevalError as KgevalError
    from rdf_kgeval.errors import RunError as RunError
    from rdf_kgeval.evaluation import Evaluation as Evaluation
    from rdf_kgeval.evaluation import evaluate as evaluate
    from rdf_kgeval.inference.inference import Inference as Inference
    from rdf_kgeval.inference.inference import InferenceOptions as InferenceOptions
    from rdf_kgeval.inference.inference import infer as infer
    from rdf_kgeval.mining import mine as mine
    from rdf_kgeval.miningindex import MiningOptions as MiningOptions
    from rdf_kgeval.ontology import read_ontology as read_ontology
    from rdf_kgeval.oracles import GoldOracle as GoldOracle
    from rdf_kgeval.oracles import PromptOracle as PromptOracle
    from rdf_kgeval.plugin import register as register
    from rdf_kgeval.publication import RecordOptions as RecordOptions
    from rdf_kgeval.publication import to_rdf as to_rdf
    from rdf_kgeval.rule import Rule as Rule
    from rdf_kgeval.rules import read_rules as read_rules
    from rdf_kgeval.settings import Settings as Settings
    from rdf_kgeval.sources import pull_beliefs as pull_beliefs
    from rdf_kgeval.sources import read_beliefs as read_beliefs

_HOME = {
    "Beliefs": "beliefs",
    "CouplingGraph": "coupling",
    "Credentials": "endpoint",
    "Endpoint": "endpoint",
    "EndpointError": "errors",
    "Evaluation": "evaluation",
    "GoldOracle": "oracles",
    "Inference": "inference.inference",
    "InferenceOptions": "inference.inference",
    "InputError": "errors",
    "KgevalError": "errors",
    "MiningOptions": "miningindex",
    "PromptOracle": "oracles",
    "RecordOptions": "publication",
    "RunError": "errors",
    "Rule": "rule",
    "Settings": "settings",
    "couple": "coupling",
    "evaluate": "evaluation",
    "infer": "inference.inference",
    "mine": "mining",
    "pull_beliefs": "sources",
    "read_beliefs": "sources",
    "read_ontology": "ontology",
    "read_rules": "rules",
    "register": "plugin",
    "to_rdf": "publication",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
