"""Ask an oracle, one belief after another."""

from collections.abc import Callable

from rdf_kgeval.common.progress import Show, StepProgress
from rdf_kgeval.evaluation.state import State
from rdf_kgeval.verdicts.oracles import Oracle, Wish, as_answer, is_interactive


def consult_shown(state: State, oracle: Oracle, show: Show) -> bool:
    """Ask the oracle as `consult` does, and show progress unless a person answers."""
    if is_interactive(oracle):
        return consult(state, oracle)
    with show() as progress:

        def tell(state: State) -> None:
            progress("verdicts", state.n_verdicts, state.settings.budget)

        return consult(state, oracle, on_answer=tell)


def consult(
    state: State,
    oracle: Oracle,
    *,
    progress: StepProgress | None = None,
    on_answer: Callable[[State], None] = lambda _: None,
) -> bool:
    """Ask the oracle until the evaluation stops or the oracle quits.

    Args:
        state: names the next belief and takes the answer.
        oracle: answers.
        progress: called while a policy looks ahead.
        on_answer: called after each answer.

    Returns:
        Whether the evaluation stopped, rather than the oracle.
    """
    skipped: list[int] = []
    while True:
        requests = state.next(1, [*skipped, *state.waiting(oracle.annotator)], progress)
        if not requests:
            if not skipped or state.stopped:
                return True
            skipped = []
            continue
        answer = as_answer(oracle.ask(state.question(requests[0].position)), oracle.annotator)
        if answer is Wish.QUIT:
            return False
        if answer is Wish.SKIP:
            skipped.append(requests[0].position)
        elif answer is Wish.UNDO:
            state.undo(oracle.annotator)
        else:
            state.answer(requests[0], answer, oracle.annotator)
            on_answer(state)
