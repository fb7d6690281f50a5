"""Inference: verdicts in, soft truths out.

Modules, in reading order:
    infer: which beliefs are true, given the verdicts.
    model: a coupling graph and verdicts as a model for the solver.
    rule_weights: how far to trust each rule, learned from verdicts.
    explanation: which constraints and verdicts a soft truth rests on.
    lookahead: what each further verdict would bring.
    solver/: the minimum of a model.
    incremental/: solutions that follow verdicts one by one.
"""
