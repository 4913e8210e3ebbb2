"""The release. It stands here, so that `--version` reads nothing; a test holds it equal to the package's."""

VERSION = "0.1.0"
