"""Labels of metadata: what is asked for is what was kept, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from backstory.ranking.labels import metadata_label, metadata_labels

keys = st.text(max_size=5)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.text(max_size=5) | numbers | st.booleans()


@given(keys, values, keys, values)
def test_two_labels_are_alike_only_for_the_same_entry(
    key: str, value: object, other_key: str, other: object
) -> None:
    same = key == other_key and value == other and isinstance(value, bool) is isinstance(other, bool)

    assert (metadata_label(key, value) == metadata_label(other_key, other)) is same


def test_a_text_is_no_number_and_a_whole_number_is_one_however_it_is_written() -> None:
    assert metadata_label("n", "77") != metadata_label("n", 77) == metadata_label("n", 77.0)
    assert metadata_label("n", 1) != metadata_label("n", True)


def test_each_item_of_a_list_is_found_and_a_long_one_too() -> None:
    long = "x" * 5_000

    labels = list(metadata_labels({"tags": ["money", long], "of": {"no": "label"}, "none": None}))

    assert labels == [metadata_label("tags", "money"), metadata_label("tags", long)]
    assert max(map(len, labels)) <= 200
