"""Mining: rules learned from the beliefs themselves, with the measures of AMIE.

Modules, in reading order:
    mine: finds rules, drops redundant ones, names the others.
    options: what to look for, and which rules to keep.
    index: the triples indexed for mining.
    paths: finds closed paths that imply a predicate.
    closed_paths: the compiled search for closed paths.
    walks: the compiled graph, and counts of walks on it.
    constants: finds rules with constants, and type signatures.
"""
