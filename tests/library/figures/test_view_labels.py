"""How figures call the views."""

from homogenization.figures.view_labels import view_label


def test_views_are_called_by_their_look_and_their_tokens():
    assert view_label("raw") == "as is, all tokens"
    assert view_label("centred_without_first") == "centred, without the first token"
    assert view_label("without_first") == "without the first token"
    assert view_label("of_my_own") == "of my own"
