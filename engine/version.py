"""The release. It stands here, so that `--version` reads nothing; a test holds it equal to the package's."""

from typing import Final

VERSION: Final = "0.1.0"
