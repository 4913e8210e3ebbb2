"""Audit: what a ledger says, judged again from its own evidence; needs no project and no warehouse unless it compares with one."""
