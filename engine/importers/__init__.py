"""Other tools' projects, turned into Interlock projects."""
