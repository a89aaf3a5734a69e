from tests.annotator.crawler import claims
from tests.cases import for_each


@for_each(
    ("text", "count"),
    [
        ("label error <b>12.0 %</b>", 1),
        ("About 12 % of the settled labels are wrong", 1),
        ("Wrong with a probability of 3 %", 1),
        ("label error 12.0 %, 20 gold or audited", 0),
        ("label error: not measured", 0),
        ("12 % of the images are done", 0),
    ],
)
def test_an_error_without_its_basis_is_a_fault(text, count):
    assert len(claims(f"<main>{text}</main>")) == count
