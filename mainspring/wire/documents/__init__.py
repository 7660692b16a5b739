"""The JSON bodies of REST, one module a kind of thing."""
