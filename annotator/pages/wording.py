"""How the name of a class is put into a question."""

import re

# Beginnings of names whose first sound differs from their first letter.
VOWEL_SOUND = re.compile(r"hour|honest|heir|x-ray|unim|unin|unid|[aefhilmnorsx](-|\d)")
CONSONANT_SOUND = re.compile(r"uni|us[eu]|ut[ei]|uri|uk|ua|ufo|e[uw]|once|one\b|u(-|\d)")
# Where the name ends and an explanation begins.
EXPLANATION = re.compile(
    r"[,:;(]|-of-| (?:and|etc|for|from|in|of|on|other|that|to|used|which|with|without)\b"
)
HAS_ARTICLE = re.compile(r"(?:an?|any|some|the) ")
# Nouns without an article that do not end in s, and nouns in s that take one.
NO_ARTICLE = re.compile(
    "(?:attire|cattle|clothing|cosmetics|equipment|food|footwear|fruit|furniture|gear|guacamole|"
    "headdress|headgear|jewell?e?ry|luggage|people|swine|underwear|water|wildlife)$"
)
SINGULAR = re.compile(r"(?:ss|us|is|as|lens|series|chess|os|ops)$")


def article_for(name: str) -> str:
    """Return "a" or "an" by the sound that the name begins with; "" for names without an article.

    >>> [article_for(name) for name in ("American coot", "drake", "unicycle", "hourglass")]
    ['an', 'a', 'a', 'an']
    >>> [article_for(name) for name in ("mammals (no bats)", "furniture", "a cart")]
    ['', '', '']
    """
    word = name.strip().lower()
    if HAS_ARTICLE.match(word) or _is_many(word):
        return ""
    if VOWEL_SOUND.match(word):
        return "an"
    return "an" if word.startswith(tuple("aeiou")) and not CONSONANT_SOUND.match(word) else "a"


def _is_many(name: str) -> bool:
    """Return whether the name is a plural or an uncountable noun."""
    # In names joined by "and" the last noun counts: "a computer and computer peripherals" is
    # plural.
    joined = re.split(r"[,:;(]", name, maxsplit=1)[0].rpartition(" and ")[2]
    noun = EXPLANATION.split(joined, maxsplit=1)[0].split("/")[-1].split()[-1:]
    if not noun:
        return False
    plural = noun[0].endswith("s") and not SINGULAR.search(noun[0]) and len(noun[0]) > 3
    return plural or NO_ARTICLE.match(noun[0]) is not None


# Longer names are cut at their first bracket.
LONG = 40


def headline(name: str) -> tuple[str, str]:
    """Return the name of a class and the explanation after its colon or, in a long one, in
    brackets.

    >>> headline("percussion instruments: chimes, maracas, drums, etc")
    ('percussion instruments', 'chimes, maracas, drums, etc')
    >>> headline("crane (bird)")
    ('crane (bird)', '')
    """
    head, colon, rest = name.partition(": ")
    if not colon and len(name) > LONG:
        head, bracket, rest = name.partition(" (")
        rest = f"({rest}" if bracket else ""
    return head.strip(), rest.strip()
