"""The use cases behind `api`: each puts rooms together for one command."""
