"""Evaluation: what to ask next, when to stop, and what is known.

Modules, in reading order:
    settings: the options of an evaluation.
    methods: the methods by name (`METHODS`).
    procedure: what chooses the next beliefs and estimates.
    policies: the policies of the paper.
    policy_procedure: a policy at work.
    sampling_procedure: a sampling design at work.
    state: everything that follows from the graph, the settings and the log.
    consult: asks an oracle, one belief after another.
    result: the result, and which thresholds it misses.
    simulation: evaluations with gold labels as answers, to compare methods.
    exchange: tasks for labelling tools, and their answers back.
"""
