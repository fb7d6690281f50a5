"""Fuzzing of everything that reads what comes from outside; `python -m tests.fuzzing` runs it."""
