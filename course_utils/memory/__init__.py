"""Why is memory full? What a step allocates, and who holds it."""
