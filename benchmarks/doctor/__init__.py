"""The doctor: what this machine can train with, and for what does not work, why and what to do.

Facts are gathered at the edge (`gather`), judged by pure functions (`checks`) and printed
(`page`). Nothing here needs a third-party package, since what is missing is what it looks for;
torch is asked in a child process.
"""
