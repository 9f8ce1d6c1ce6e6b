"""What came out: records, their statistics, tables. Reads on a laptop without torch."""
