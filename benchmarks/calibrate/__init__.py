"""What can this machine tell? The gate run on unchanged code, and on slowdowns of known size.

Stored times say nothing of how sure a verdict of the gate is; gates whose right answer is known do.
The gate that is run here is the one of `benchmarks.regress`, down to its decisions.
"""
