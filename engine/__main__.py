"""`python -m interlock.engine` is the command `interlock`."""

import sys

from interlock.engine.cli import main

if __name__ == "__main__":
    sys.exit(main())
