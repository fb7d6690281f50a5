"""The SPARQL protocol: requests, answers, and what stores do differently."""
