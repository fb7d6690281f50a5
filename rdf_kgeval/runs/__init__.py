"""Runs: run directories, made whole, opened, checked for damage.

Modules, in reading order:
    layout: the files of a run directory.
    config: `config.json`, and how damage is noticed.
    discovery: the rules where the user gives none.
    create: makes a run directory, whole or not at all.
    run: opens a run to look at it, or to go on with it.
    inputs: what a user hands to `evaluate`, and the run that it makes or goes on with.
    drawn_graph: the drawn beliefs of an evaluation in place, on disk.
    drawing: draws them from an endpoint, at first and when more are needed.
"""
