"""Notebooks: the whole job in a real kernel."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.notebook import run_cells

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"

pytestmark = pytest.mark.filterwarnings("default")  # what the kernel's client warns of is not ours


def test_beliefs_are_coupled_and_evaluated_without_ipywidgets() -> None:
    *_, outputs = run_cells(
        "import rdf_kgeval as kgeval",
        "beliefs = kgeval.read_beliefs('kg.ttl')\n"
        "graph = kgeval.couple(beliefs, kgeval.read_rules('rules') + kgeval.read_ontology('ontology.ttl'))",
        "kgeval.evaluate(graph, kgeval.GoldOracle('gold.csv'))",
        folder=EXAMPLE,
    )
    assert "75.0%" in outputs[-1]["data"]["text/html"]


def test_joins_show_no_progress_on_standard_output() -> None:
    code = (
        "import duckdb\n"
        "from rdf_kgeval.coupling.tables import open_tables\n"
        "asked = \"SELECT current_setting('enable_progress_bar')\"\n"
        "print(duckdb.connect().execute(asked).fetchall())\n"
        "with open_tables() as tables:\n"
        "    print(tables.number(asked))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[(True,)]\n0.0\n"  # DuckDB takes this for a session that a person looks at


def test_long_work_shows_a_bar_without_widgets_and_takes_it_away() -> None:
    (outputs,) = run_cells(
        "import time, IPython.display as shown, rdf_kgeval as kgeval\n"
        "seen, show = [], shown.display\n"
        "def noted(data, **how):\n"
        "    seen.append(data)\n"
        "    return show(data, **how)\n"
        "shown.display = noted\n"
        "def judge(question):\n"
        "    time.sleep(0.3)\n"
        "    return True\n"
        "done = kgeval.evaluate('kg.ttl', judge, mine=False, budget=5)\n"
        "print(seen[0]['text/plain'], '|', seen[0]['text/html'])",
        folder=EXAMPLE,
    )
    printed = "".join(one["text"] for one in outputs if one.get("name") == "stdout")
    assert "verdicts: " in printed
    assert '<progress value="' in printed
    bars = [one["data"] for one in outputs if one["output_type"] == "display_data"]
    assert [bar["text/plain"] for bar in bars] == [""]
    assert not [one for one in outputs if "ipywidgets" in str(one)]
