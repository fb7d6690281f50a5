"""Pages on which people judge beliefs, and their server."""

from rdf_kgeval.common.extras import install_command, missing
from rdf_kgeval.errors import InputError

if missing("web"):
    raise InputError(f"the web pages need more packages; install them with {install_command('web')}")
