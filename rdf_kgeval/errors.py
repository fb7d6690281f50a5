"""The errors a user can meet; each message is one sentence that says what is wrong, where, and what to do.

KgevalError
├── InputError          a file, query, option or graph that cannot be used as it is
│   └── TooManyGroundings  rules with more groundings than the limit or the memory allows
├── RunError            a run directory that is missing, taken or damaged
├── EngineError         an engine that is not installed, cannot be reached, is too small or failed
└── EndpointError       a SPARQL endpoint that refused, failed or does not exist
    └── IncompleteError  an answer that is cut short or too slow to arrive
"""


class KgevalError(Exception):
    """Base of all errors that rdf_kgeval raises on purpose."""


class InputError(KgevalError):
    """A file, query, option or graph cannot be used as it is."""


class TooManyGroundings(InputError):  # noqa: N818
    """Rules have more groundings than the limit or the memory allows; with fewer rules it may do."""


class RunError(KgevalError):
    """A run directory is missing, already there or damaged."""


class EngineError(KgevalError):
    """An engine is not installed, cannot be reached, is too small for the job or failed."""


class EndpointError(KgevalError):
    """A SPARQL endpoint refused a request, failed or is not one."""


class IncompleteError(EndpointError):
    """An endpoint's answer was cut short or did not arrive in time; asking for less may help."""
