"""dbt projects: each item is converted or refused, never something in between."""
