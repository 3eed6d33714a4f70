"""The parts of the pytest plugin. `chaoslat/pytest_plugin.py` holds the hooks and imports these lightly."""
