"""What the programs in Python share."""

import sys

FAILED = []


def call(name, does):
    """Prints what came of a call."""
    try:
        does()
        print(f"ok {name}")
    except Exception as error:  # whatever a client makes of an answer
        FAILED.append(name)
        print(f"FAIL {name}: {type(error).__name__}: {str(error).replace(chr(10), ' ')}")


def expect(got, wanted):
    if got != wanted:
        raise AssertionError(f"it is {got!r}, not {wanted!r}")


def end():
    """Ends the program, with 1 where a call has failed."""
    sys.exit(1 if FAILED else 0)
