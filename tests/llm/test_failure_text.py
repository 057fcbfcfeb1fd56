from core import i18n
from core.domain.errors import FailureKind


def test_each_kind_of_failure_has_its_own_sentence_that_names_the_model() -> None:
    for locale in i18n.LOCALES:
        sentences = [i18n.text(locale, f"model_failure.{kind}", model="gpt-x") for kind in FailureKind]
        assert all("gpt-x" in sentence for sentence in sentences)
        assert len(set(sentences)) == len(sentences)
