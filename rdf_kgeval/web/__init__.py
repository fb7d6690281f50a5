"""Pages on which people judge beliefs, and their server."""

from importlib.util import find_spec

from rdf_kgeval.errors import InputError

if not all(map(find_spec, ("starlette", "uvicorn"))):
    raise InputError("the web pages need more packages; install them with pip install 'rdf-kgeval[web]'")
