"""Shared by all tests."""

from hypothesis import settings

pytest_plugins = ["pytester"]

# A test that is slow because its neighbours are busy is not wrong: no deadline per example.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
