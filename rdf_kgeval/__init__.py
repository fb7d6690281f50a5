"""rdf_kgeval: how much of this knowledge graph is true?

The names below are loaded on first use (PEP 562), so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from rdf_kgeval.beliefs.table import Beliefs as Beliefs
    from rdf_kgeval.coupling.graph import CouplingGraph as CouplingGraph
    from rdf_kgeval.coupling.graph import couple as couple
    from rdf_kgeval.errors import EndpointError as EndpointError
    from rdf_kgeval.errors import InputError as InputError
    from rdf_kgeval.errors import KgevalError as KgevalError
    from rdf_kgeval.errors import RunError as RunError
    from rdf_kgeval.evaluation.settings import Settings as Settings
    from rdf_kgeval.inference.infer import Inference as Inference
    from rdf_kgeval.inference.infer import InferenceOptions as InferenceOptions
    from rdf_kgeval.inference.infer import infer as infer
    from rdf_kgeval.pipeline import Evaluation as Evaluation
    from rdf_kgeval.pipeline import evaluate as evaluate
    from rdf_kgeval.plugin.functions import register as register
    from rdf_kgeval.publishing.rdf import RecordOptions as RecordOptions
    from rdf_kgeval.publishing.rdf import to_rdf as to_rdf
    from rdf_kgeval.rules.dialects import read_rules as read_rules
    from rdf_kgeval.rules.mining.mine import mine as mine
    from rdf_kgeval.rules.mining.options import MiningOptions as MiningOptions
    from rdf_kgeval.rules.ontology import read_ontology as read_ontology
    from rdf_kgeval.rules.rule import Rule as Rule
    from rdf_kgeval.sources.endpoint.client import Credentials as Credentials
    from rdf_kgeval.sources.endpoint.client import Endpoint as Endpoint
    from rdf_kgeval.sources.load import pull_beliefs as pull_beliefs
    from rdf_kgeval.sources.load import read_beliefs as read_beliefs
    from rdf_kgeval.verdicts.gold import GoldOracle as GoldOracle
    from rdf_kgeval.verdicts.log import Answer as Answer
    from rdf_kgeval.verdicts.log import Judgement as Judgement
    from rdf_kgeval.verdicts.oracles import Oracle as Oracle
    from rdf_kgeval.verdicts.oracles import PromptOracle as PromptOracle
    from rdf_kgeval.verdicts.oracles import Question as Question

_HOME = {
    "Answer": "verdicts.log",
    "Beliefs": "beliefs.table",
    "CouplingGraph": "coupling.graph",
    "Credentials": "sources.endpoint.client",
    "Endpoint": "sources.endpoint.client",
    "EndpointError": "errors",
    "Evaluation": "pipeline",
    "GoldOracle": "verdicts.gold",
    "Inference": "inference.infer",
    "InferenceOptions": "inference.infer",
    "InputError": "errors",
    "Judgement": "verdicts.log",
    "KgevalError": "errors",
    "MiningOptions": "rules.mining.options",
    "Oracle": "verdicts.oracles",
    "PromptOracle": "verdicts.oracles",
    "Question": "verdicts.oracles",
    "RecordOptions": "publishing.rdf",
    "RunError": "errors",
    "Rule": "rules.rule",
    "Settings": "evaluation.settings",
    "couple": "coupling.graph",
    "evaluate": "pipeline",
    "infer": "inference.infer",
    "mine": "rules.mining.mine",
    "pull_beliefs": "sources.load",
    "read_beliefs": "sources.load",
    "read_ontology": "rules.ontology",
    "read_rules": "rules.dialects",
    "register": "plugin.functions",
    "to_rdf": "publishing.rdf",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("rdf-kgeval")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
