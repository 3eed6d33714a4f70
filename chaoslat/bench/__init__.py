"""Benches: what the parts are worth, measured. Each has `run(...)`, a result and a text table."""
