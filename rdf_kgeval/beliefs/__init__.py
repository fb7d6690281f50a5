"""Beliefs: the triples of a graph in columns, their terms and their names.

Modules, in reading order:
    terms: conversion of the terms of rdflib, pyoxigraph and SPARQL JSON into ours.
    accounts: what became of every triple that was read.
    table: the triples in columns of integers over one table of terms.
    builder: builds that table from the quads of any source.
    blank_nodes: stable names for the blank nodes of a file.
    sampling_frame: a population that stays at its endpoint, and the part of it that was drawn.
    prefixes: short names of namespaces, by which people read and write IRIs.
    values: numbers and dates as people read them.
    names: the words that people read in place of IRIs.
    search: the beliefs that people mean by words.
    evidence: where a belief comes from, by the graph or by a file.
    sparql: the beliefs as a SPARQL store in memory.
"""
