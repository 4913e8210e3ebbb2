"""Results as text for people and as JSON for programs. Knows results, no use cases."""
