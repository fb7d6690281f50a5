"""Files are written whole or not at all."""

from pathlib import Path

import pytest

from rdf_kgeval.common.disk import read_text, replacing, sha256_of, write_text
from rdf_kgeval.errors import InputError


def test_a_file_is_replaced_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as new:
        new.write_text("new")
        assert path.read_text() == "old"
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.txt", "new")]


def fail(path: Path, error: type[BaseException]) -> None:
    with replacing(path) as new:
        new.mkdir()
        (new / "part").write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_leaves_no_trace(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error):
        fail(tmp_path / "folder", error)
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(tmp_path / "a.txt") as new:
        new.write_text("half \ud800", encoding="utf-8")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_folder_that_was_there_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "rules.new").mkdir()
    with pytest.raises(FileExistsError), replacing(tmp_path / "rules") as new:
        new.mkdir()
    assert (tmp_path / "rules.new").is_dir()


def test_text_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "é\r\n")
    assert read_text(path) == "é\r\n"
    path.write_bytes("\ufeffname".encode())
    assert read_text(path) == "name"


def test_the_digest_is_sha_256(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert sha256_of(tmp_path / "empty").startswith("e3b0c44298fc1c14")


def test_errors_name_the_file_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a/b cannot be written: No such file or directory"):
        write_text(tmp_path / "a/b", "")
    with pytest.raises(InputError, match="a cannot be read: No such file or directory"):
        read_text(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"\xff")
    with pytest.raises(InputError, match="a is not UTF-8 text; save it as UTF-8"):
        read_text(tmp_path / "a")
