"""What binds a cell, by rules over the numbers of its record; pure, without torch or pandas.

>>> from results.diagnosis import sentence
>>> sentence(record)  # doctest: +SKIP
'data loading: 61% of a step waits for data; try workers2'
"""

from results.diagnosis.finding import Answer, Finding, Ruled, Tier
from results.diagnosis.numbers import Numbers, numbers
from results.diagnosis.ranking import NOT_CLEAR, RULES, Diagnosis, diagnose, sentence

__all__ = [
    "NOT_CLEAR",
    "RULES",
    "Answer",
    "Diagnosis",
    "Finding",
    "Numbers",
    "Ruled",
    "Tier",
    "diagnose",
    "numbers",
    "sentence",
]
