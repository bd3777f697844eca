"""The tables: declared, made from the journal, published."""
