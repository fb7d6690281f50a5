from pathlib import Path

import numpy as np
import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.inference.explanation import explain, find_broken, find_evidence
from rdf_kgeval.inference.infer import Inference
from tests.support.records import NELL, hostile, motivating


def assert_as_explained(inference: Inference) -> int:
    """Evidence for all atoms at once is what `explain` finds for each."""
    atoms = np.setdiff1d(inference.graph.beliefs.rows, list(inference.verdicts)).astype(np.int32)
    evidence = find_evidence(inference, atoms)
    for atom in atoms.tolist():
        own = evidence.constraint[evidence.atom == atom].tolist()
        reasons = explain(inference, atom, most=1).reasons
        told = [({other.atom for other in reason.because} | {atom}, reason.rules) for reason in reasons]
        graph = inference.graph
        found = [
            (set(graph.atom[graph.start[j] : graph.start[j + 1]].tolist()), tuple(graph.rules_of(j)))
            for j in own
        ]
        assert found == told
    return len(evidence.atom)


def test_evidence_is_what_explanations_say(tmp_path: Path) -> None:
    assert assert_as_explained(motivating().inference) == 4
    assert assert_as_explained(hostile(tmp_path).inference) >= 2


@pytest.mark.skipif(not NELL.exists(), reason="the nell-sports set is not on this machine")
def test_evidence_on_nell() -> None:
    beliefs = kgeval.read_beliefs(NELL / "beliefs.nt", context_unknown=[NELL / "types.nt"])
    mined = kgeval.mine(beliefs, kgeval.MiningOptions(max_length=2))
    graph = kgeval.couple(beliefs, kgeval.read_ontology(NELL / "ontology.ttl") + mined)
    rows = beliefs.rows[::10].tolist()
    learned = kgeval.InferenceOptions(update_confidences=True)
    inference = kgeval.infer(graph, {beliefs.id(row): row % 5 != 0 for row in rows}, learned)
    assert assert_as_explained(inference) > 100


def test_broken_constraints_are_those_that_verdicts_contradict(tmp_path: Path) -> None:
    inference = hostile(tmp_path).inference
    (broken,) = find_broken(inference).tolist()
    (rule,) = inference.graph.rules_of(broken)
    assert rule.id == "athlete"


def test_without_rules_there_is_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_text("<x:s> <x:p> <x:o> .\n")
    graph = kgeval.couple(kgeval.read_beliefs(tmp_path / "kg.nt"), [])
    inference = kgeval.infer(graph)
    assert len(find_evidence(inference, graph.beliefs.rows).atom) == 0
    assert len(find_broken(inference)) == 0
