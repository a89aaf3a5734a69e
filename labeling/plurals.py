"""A number with its noun, as people read it."""


def count_of(count: int, one: str, many: str = "") -> str:
    """The number and what there is so many of; many: where it does not end in one s more.

    >>> count_of(1, "answer"), count_of(1312, "answer")
    ('1 answer', '1,312 answers')
    >>> count_of(1, "class is", "classes are"), count_of(2, "class is", "classes are")
    ('1 class is', '2 classes are')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
