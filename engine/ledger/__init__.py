"""The ledger: an append-only chain of records in files, its writer, its reader, and what follows from it."""
