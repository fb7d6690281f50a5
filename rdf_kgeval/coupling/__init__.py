"""From rules and beliefs to the coupling graph."""
