"""Verdicts: what people answer, who answers, and what several answers amount to.

Modules, in reading order:
    log: verdicts and retractions, in an append-only file.
    votes: what several annotators' votes amount to, and how far they agree.
    aggregation: the ways to aggregate votes, by name (`AGGREGATORS`).
    ledger: everybody's last answer on each belief, and the label that they give it.
    oracles: whoever answers, a person or a program, by name (`ORACLES`).
    gold: a file with labels that answers.
"""
