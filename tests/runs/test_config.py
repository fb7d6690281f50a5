import json

import pytest

from rdf_kgeval.cli.config_file import repeat_config
from rdf_kgeval.errors import RunError
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.runs.config import RunConfig


def test_a_record_comes_back_from_json() -> None:
    settings = Settings(policy="greedy", estimator="inferable", budget=60)
    config = RunConfig(evaluation=settings.to_json(), prefixes=(("ex", "http://example.org/"),))
    again = RunConfig.from_json(json.loads(json.dumps(config.to_json())))
    assert again == config
    assert again.settings == settings


def test_fields_that_nobody_chose_have_their_defaults() -> None:
    assert RunConfig().settings == Settings()
    assert RunConfig(evaluation={"seed": 5}).settings == Settings(seed=5)


@pytest.mark.parametrize("chosen", [{"from_a_newer_version": 1}, {"policy": "unheard-of"}, {"seed": "one"}])
def test_settings_of_a_newer_version_are_refused_in_a_sentence(chosen: dict[str, object]) -> None:
    config = RunConfig(evaluation=chosen)
    with pytest.raises(RunError, match="settings that this kgeval does not know"):
        repeat_config(config)
