"""Numbers with their nouns."""


def count_of(count: int, singular: str, many: str = "") -> str:
    """Return a number with its noun. many: the plural, by default `singular` with an s.

    >>> count_of(1, "answer"), count_of(1312, "answer")
    ('1 answer', '1,312 answers')
    >>> count_of(1, "class is", "classes are"), count_of(2, "class is", "classes are")
    ('1 class is', '2 classes are')
    """
    return f"{count:,} {singular if count == 1 else many or f'{singular}s'}"
