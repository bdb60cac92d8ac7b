"""The judges: one module per notebook, named after it, and what they share in `compare`."""
