"""Run cells in a real kernel, as Jupyter does, where ipywidgets is not to be had."""

import nbformat
from nbclient import NotebookClient

_NO_WIDGETS = "import sys; sys.modules['ipywidgets'] = None"


def run_cells(*cells: str, folder: object = ".") -> list[list[nbformat.NotebookNode]]:
    """Run the cells in one kernel; return what each puts out. An error of a cell is raised."""
    made = [nbformat.v4.new_code_cell(cell) for cell in (_NO_WIDGETS, *cells)]
    book = nbformat.v4.new_notebook(cells=made)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in book.cells[1:]]
