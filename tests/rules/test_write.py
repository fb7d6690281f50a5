from pathlib import Path

import pytest

from rdf_kgeval.rules import write
from rdf_kgeval.rules.rule import Rule


@pytest.mark.parametrize(
    ("name", "written_by", "made_by"),
    [("rules.ttl", "shacl", "to_shacl"), ("rules", "rq", "to_template")],
)
def test_an_interrupted_write_leaves_nothing(
    name: str, written_by: str, made_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = Rule(id="r", body=(("?x", "<http://e/p>", "?y"),), head=("?x", "<http://e/q>", "?y"))
    monkeypatch.setattr(write, made_by, lambda *_: "cut short \ud800")
    with pytest.raises(UnicodeEncodeError):
        write.WRITERS[written_by]([rule], tmp_path / name)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    write.WRITERS[written_by]([rule], tmp_path / name)
    assert (tmp_path / name).exists()
