"""The solver: arrays in, the minimum out.

Modules, in reading order:
    solve: models, options, solutions; what finds a minimum.
    layout: connected components side by side.
    problem: hinges as slopes, and working space.
    ascent: a cheap cold start in the dual.
    newton: semismooth Newton with an exact line search.
"""
