"""chaoslat: fault-injection tests of diagnosis."""
