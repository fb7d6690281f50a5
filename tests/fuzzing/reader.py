"""One reader under atheris, in a process of its own: `python -m tests.fuzzing.reader NAME CORPUS [-OPTION...]`."""

import sys

from tests.fuzzing.__main__ import fuzz

fuzz(sys.argv[1], sys.argv[2:])
