"""Web: pages on which people judge beliefs, and their server.

Modules, in reading order:
    server: serves the pages of a run until the evaluation stops.
    access: personal links.
    pages: routes and forms.
    people: annotators, open beliefs, and the status of the evaluation.
    desk: shares beliefs out among people, and takes their answers.
    cards: a belief as the page shows it.
    overview: what the owner's dashboard shows.
"""

from rdf_kgeval.common.extras import install_command, missing
from rdf_kgeval.errors import InputError

if missing("web"):
    raise InputError(f"the web pages need more packages; install them with {install_command('web')}")
