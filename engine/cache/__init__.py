"""What was worked out before and may be looked up: never needed, never trusted without its digest."""
