"""Docstrings of functions say what is done, not what the result is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import rdf_kgeval

PACKAGE = Path(rdf_kgeval.__file__).parent
NO_VERBS = {
    "A", "An", "The", "All", "Each", "Every", "Some", "Up", "Only", "Lines", "Beliefs",
    "What", "Whether", "How", "Where", "Which", "Who", "Why", "When",
    "By", "For", "From", "In", "Of", "On", "With",
}  # fmt: skip


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            if not decorators & {"property", "cached_property"}:
                yield node


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    seen, wrong = 0, []
    for file in sorted(PACKAGE.rglob("*.py")):
        for function in _functions(ast.parse(file.read_text(encoding="utf-8"))):
            first = (ast.get_docstring(function) or "").split(maxsplit=1)[:1]
            seen += len(first)
            if first and (first[0] in NO_VERBS or first[0].endswith("'s")):
                wrong.append(f"{file.relative_to(PACKAGE)}:{function.lineno}: {first[0]} ...")
    assert seen > 800
    assert not wrong, "\n".join(wrong)
