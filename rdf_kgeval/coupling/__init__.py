"""Coupling: rules and beliefs in, the coupling graph out.

Modules, in reading order:
    graph: CouplingGraph, and `couple`, which makes one.
    grounding: all ways to satisfy the rules.
    joins: a rule as SQL.
    bounds: how many rows a join can have, before it is made.
    bindings: solutions of a SPARQL engine, where SQL is not enough.
    constraints: groundings merged into distinct constraints.
    vocabulary: numbers for terms, and values of literals.
    tables: tables of integers in DuckDB.
"""
