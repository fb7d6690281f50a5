"""Rules, and every way to get some: templates, SHACL, ontologies, tables of miners, mining."""
