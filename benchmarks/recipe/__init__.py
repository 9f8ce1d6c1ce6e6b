"""`python -m benchmarks recipe`: the combination of techniques that pays on this machine."""
