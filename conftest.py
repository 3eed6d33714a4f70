"""Shared by all tests."""

import signal

from hypothesis import settings

pytest_plugins = ["pytester"]

# A test that is slow because its neighbours are busy is not wrong: no deadline per example.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")

# A shell's `&` leaves SIGINT ignored and nohup SIGHUP, children inherit that, and chaoslat honours it. The tests that
# interrupt themselves and their children take the answers that a terminal gives.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)
