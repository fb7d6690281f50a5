"""Incremental solutions: kept up to date, one verdict after another; arrays only.

Modules, in reading order:
    solution: clamp, commit, roll back, ask what-ifs.
    worklist: re-solve around one fixed variable.
    journal: the state of a re-solve, and how to take it back.
    watch: the rows that a re-solve watches.
"""
