"""Every text that a user sees exists in both languages, and nothing else does."""

import ast
import collections
import functools
import json
import re
import string
from pathlib import Path

import pytest

from bertviz_core import errors
from pages.shared import language as language_module
from pages.shared.navigation import ICONS
from pages.shared.page_head import TERMS

ROOT = Path(__file__).parent.parent
LOCALES = ROOT / "assets" / "locales"
PAGES = sorted(path.stem for path in (LOCALES / "en").glob("*.json"))
FACE = [ROOT / "app.py", ROOT / "server.py", *sorted((ROOT / "pages").rglob("*.py"))]
CORE = sorted((ROOT / "bertviz_core").rglob("*.py"))

KEY = re.compile(rf"({'|'.join(PAGES)})\.(?!py$)[a-z0-9_]+")
ERRORS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.BertVizError)
}

CHINESE = re.compile("[\u4e00-\u9fff]")
# Names, file endings and terms that a Chinese text writes in Latin letters, too.
SAME_IN_BOTH = {
    "BERT", "CLS", "Explorer", "KB", "MB", "SEP", "T", "base", "bert", "chinese", "csv",
    "f", "home", "html", "max", "png", "q", "svg",
    "Top", "k", "logit", "me", "my", "p", "top", "PCA", "SNE", "UMAP", "t",
}  # fmt: skip

# Sentences in which a count of one is nothing rare, so that none says "1 rows".
CAN_BE_ONE = [
    "attention.measure_described",
    *(f"models.{name}" for name in ("loaded", "unused", "reshaped", "optimizer_slots")),
    *(
        f"embeddings.{name}"
        for name in (
            "sentences_counted", "sentences_cut", "senses_not_compared", "file_taken",
            "files_explained",
        )
    ),
    *(
        f"fine_tune.{name}"
        for name in (
            "preview_explained", "in_order", "schedule_described_linear",
            "schedule_described_exponential", "about_to_train",
            "about_to_train_oversampled",
        )
    ),
    *(
        f"results.{name}"
        for name in (
            "matrix_described", "cell_wrong", "cell_right", "classes_described",
            "classes_never_named", "rows_shown", "predict_all", "table_done",
        )
    ),
    "masked_word.was_cut",
]  # fmt: skip

# Calls of Streamlit that show no text, and arguments that are no text.
SILENT_CALLS = {
    "get_option",
    "App", "cache_data", "cache_resource", "columns", "container", "fragment",
    "get", "pop", "setdefault", "switch_page", "rerun", "space", "component",
}  # fmt: skip
SILENT_ARGUMENTS = {
    "alignment", "bind", "border", "color", "column_order", "config", "delta_arrow",
    "delta_color", "filter_mode", "format", "gap", "height", "horizontal_alignment",
    "icon", "key", "kwargs",
    "label_visibility", "language", "layout", "mime", "mode", "on_change", "on_click",
    "on_select", "orientation", "page_icon", "persist_state", "position", "scope",
    "selection_mode", "text_alignment", "theme", "type", "vertical_alignment", "width",
}  # fmt: skip
# With `format_func`, what is chosen from has a text of its own.
FORMATTED_ARGUMENTS = {"options", "default", "value"}
SHOWING_METHODS = {
    "button", "caption", "checkbox", "code", "download_button", "error", "expander",
    "file_uploader", "header", "info", "link_button", "markdown", "metric",
    "number_input", "page_link", "pills", "popover", "progress", "radio",
    "segmented_control", "select_slider", "selectbox", "slider", "status", "subheader",
    "success", "tabs", "text", "text_area", "text_input", "title", "toast", "toggle",
    "warning", "write",
}  # fmt: skip


def texts(language, page):
    return json.loads((LOCALES / language / f"{page}.json").read_text("utf-8"))


def places(template):
    return sorted(name for _, name, _, _ in string.Formatter().parse(template) if name)


def error_translations():
    merged = {}
    for path in sorted((LOCALES / "zh" / "errors").glob("*.json")):
        merged |= json.loads(path.read_text("utf-8"))
    return merged


def parsed(path):
    return ast.parse(path.read_text("utf-8"), str(path))


# What every page has: f"{page}.title".
OF_ANY_PAGE = re.escape(r"[a-z0-9_]+\.") + "(title|intro|what_[a-z_]+)"


def pattern_of_options(call):
    """The keys of the options of a `choose_named` whose label is written out."""
    label, _, *names = call.args
    if not isinstance(label, ast.Constant):
        return set()
    page, _, name = label.value.partition(".")
    return {rf"{page}\.{names[0].value if names else name}_[a-z0-9_]+"}


def written_keys(tree):
    """Literal keys, and patterns of keys that an f-string puts together."""
    literals, patterns, inner, said = [], set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values}
            parts = [
                re.escape(part.value)
                if isinstance(part, ast.Constant)
                else "[a-z0-9_]+"
                for part in node.values
            ]
            pattern = "".join(parts)
            of_a_page = pattern.startswith(tuple(rf"{page}\." for page in PAGES))
            if of_a_page or re.fullmatch(OF_ANY_PAGE, pattern):
                patterns.add(pattern)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            literals.append(node)
        elif isinstance(node, ast.Call) and name_of(node.func) == "choose_named":
            patterns |= pattern_of_options(node)
        elif isinstance(node, ast.Call) and name_of(node.func) == "texts_of":
            patterns.add(rf"{node.args[0].value}\.[a-z0-9_]+")
        if isinstance(node, ast.Call) and name_of(node.func) in ("t", "plain"):
            said |= {id(argument) for argument in node.args}
    keys = [
        node for node in literals if id(node) not in inner and KEY.fullmatch(node.value)
    ]
    # What `labelled` is given, and not said here, brings its help, if there is one.
    patterns |= {rf"({re.escape(k.value)}_help)?" for k in keys if id(k) not in said}
    return {node.value for node in keys}, patterns


@functools.cache
def all_written_keys():
    keys, patterns = set(), set()
    for path in FACE:
        found = written_keys(parsed(path))
        keys |= found[0]
        patterns |= found[1]
    return keys, patterns


def existing_keys():
    return {f"{page}.{name}" for page in PAGES for name in texts("en", page)}


def name_of(function):
    """The last part of what is called; "" where that has no name."""
    return getattr(function, "attr", getattr(function, "id", ""))


def is_shown_by(call):
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr in SILENT_CALLS:
        return False
    root = function.value
    while isinstance(root, ast.Attribute):
        root = root.value
    is_streamlit = isinstance(root, ast.Name) and root.id == "st"
    return is_streamlit or function.attr in SHOWING_METHODS


def has_words(text):
    is_file = re.fullmatch(r"[\w./-]+\.(py|svg)", text)
    return not is_file and re.search(r"[^\W\d_]", re.sub(r":material/\w+:", "", text))


def strings_in(node):
    """String constants of an argument; calls inside it speak for themselves."""
    if isinstance(node, ast.Call | ast.Subscript | ast.Compare | ast.Lambda):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from strings_in(child)


def bare_literals(tree):
    found = []
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and is_shown_by(call)):
            continue
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        is_formatted = "format_func" in named
        silent = SILENT_ARGUMENTS | (FORMATTED_ARGUMENTS if is_formatted else set())
        spoken = call.args[:1] if is_formatted else [*call.args]
        spoken += [value for name, value in named.items() if name not in silent]
        for argument in spoken:
            found += [s.value for s in strings_in(argument) if has_words(s.value)]
    return found


def raised_templates(tree):
    """First arguments of `…Error(…)` and notes: text, or `None` if no literal."""
    templates = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        if not isinstance(call.func, ast.Name | ast.Attribute):
            continue
        if name_of(call.func) in ERRORS | {"note", "row_note"}:
            first = call.args[0]
            is_text = isinstance(first, ast.Constant) and isinstance(first.value, str)
            templates.append(first.value if is_text else None)
    return templates


@functools.cache
def all_raised():
    return [
        (template, path.relative_to(ROOT))
        for path in [*CORE, *FACE]
        for template in raised_templates(parsed(path))
    ]


def test_both_languages_have_the_same_files():
    assert sorted(path.stem for path in (LOCALES / "zh").glob("*.json")) == PAGES
    assert "app" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_have_the_same_keys_and_places(page):
    english, chinese = texts("en", page), texts("zh", page)
    assert english.keys() == chinese.keys()
    for name, template in english.items():
        assert places(template) == places(chinese[name]), name


def test_both_cards_of_a_trained_model_have_the_same_keys_and_places():
    english, chinese = (
        json.loads((ROOT / f"assets/cards/{language}.json").read_text("utf-8"))
        for language in ("en", "zh")
    )
    assert english.keys() == chinese.keys()
    for name, template in english.items():
        assert places(template) == places(chinese[name]), name


def formulas(template):
    """What stands between dollar signs, in any order."""
    return sorted(re.findall(r"\$[^$]+\$", template))


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_write_the_same_formulas(page):
    chinese = texts("zh", page)
    for name, template in texts("en", page).items():
        assert formulas(template) == formulas(chinese[name]), name


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_text_is_empty_or_padded(language, page):
    for name, template in texts(language, page).items():
        assert template, name
        assert name.endswith("comma") or template == template.strip(), name


@pytest.mark.parametrize("key", CAN_BE_ONE)
def test_a_count_of_one_reads_well(key):
    page, name = key.split(".")
    said = texts("en", page)[name].format_map(collections.defaultdict(lambda: 1))
    assert not re.search(r"\b1 (?!is\b|was\b|has\b)[a-z]+s\b", said)


def test_chinese_texts_are_chinese():
    for page in PAGES:
        for name, template in texts("zh", page).items():
            if not (CHINESE.search(template) or name.startswith("example_en")):
                words = re.findall("[A-Za-z]+", re.sub(r"\{.*?\}", "", template))
                assert set(words) <= SAME_IN_BOTH, f"{page}.{name}"


def test_chinese_texts_speak_to_the_reader_in_one_way():
    polite = [
        str(path.relative_to(LOCALES))
        for path in (LOCALES / "zh").rglob("*.json")
        if "您" in path.read_text("utf-8")
    ]
    assert not polite, "the others say 你"


def test_every_key_in_the_code_exists():
    keys, patterns = all_written_keys()
    existing = existing_keys()
    assert keys - existing == set()
    for pattern in patterns:
        assert any(re.fullmatch(pattern, key) for key in [*existing, ""]), pattern


def test_every_key_is_used_in_the_code():
    keys, patterns = all_written_keys()
    put_together = re.compile("|".join(patterns))  # one by one takes 16 seconds
    unused = {k for k in existing_keys() - keys if not put_together.fullmatch(k)}
    assert unused == set()


@pytest.mark.parametrize("path", FACE, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_hold_no_text_of_their_own(path):
    assert bare_literals(parsed(path)) == []


def test_every_error_template_is_a_literal():
    assert [path for template, path in all_raised() if template is None] == []


def test_every_error_has_a_chinese_sentence_with_the_same_places():
    translations = error_translations()
    missing = {
        template: str(path)
        for template, path in all_raised()
        if template is not None and template not in translations
    }
    assert missing == {}
    for template, chinese in translations.items():
        assert places(template) == places(chinese), template
        assert CHINESE.search(chinese), template


def test_every_translated_error_can_still_happen():
    assert (
        set(error_translations()) - {template for template, _ in all_raised()} == set()
    )


# Where the word means something else ("weights" as a verb, confidence intervals, the
# mask of attention), or Chinese needs none.
ANOTHER_WORD = {
    "attention": ["attention.baseline_column"],
    "confidence": [
        "results.accuracy_help",
        "results.baselines_intro",
        "results.macro_f1_help",
        "results.mae_help",
    ],
    "head": ["attention.measure_entropy_bits"],
    "layer": ["masked.lens_never", "masked.lens_since"],
    "mask": [
        "attention.mask_m",
        "glossary.signs_meaning",
        "layer_steps.name_masked_scores",
        "padding.described",
        "padding.leak",
        "padding.mask",
        "padding.rows",
        "padding.rows_alt",
        "padding.share",
        "padding.with",
        "padding.without",
        "read_model.padding_intro",
        "results.why_occlusion_mask",
    ],
    "weights": ["fine_tune.metric_macro_f1_help", "fine_tune.remedy_weights_explained"],
}


def glossary_names():
    names = set(texts("en", "glossary")) - {"title"}
    return {name for name in names if not name.endswith("_meaning")}


def test_every_word_of_the_glossary_is_explained_on_a_page():
    shown = {name for names in TERMS.values() for name in names}
    assert set(TERMS) == set(ICONS)
    assert shown == glossary_names()
    assert set(texts("en", "glossary")) == {
        "title",
        *shown,
        *(f"{name}_meaning" for name in shown),
    }


@pytest.mark.parametrize("term", sorted(glossary_names()))
def test_a_term_has_one_chinese_word(term):
    # "Top-k", "Slope (derivative)", "头（注意力头）": the word before the bracket.
    word = texts("en", "glossary")[term].split(" (")[0]
    chinese = texts("zh", "glossary")[term].split("（")[0]
    asked = re.compile(rf"\b{re.escape(word)}s?\b", re.IGNORECASE)
    elsewhere = []
    for page in PAGES:
        translated = texts("zh", page)
        for name, said in texts("en", page).items():
            plain = re.sub(r"\{[^}]*\}|`[^`]*`|\[MASK\]", "", said)
            if asked.search(plain) and chinese.lower() not in translated[name].lower():
                elsewhere.append(f"{page}.{name}")
    assert sorted(elsewhere) == ANOTHER_WORD.get(term, [])


def test_a_token_is_never_called_a_piece():
    called = {
        f"{page}.{name}"
        for page in PAGES
        for name, said in texts("en", page).items()
        if re.search(r"\bpieces?\b", re.sub(r"\{[^}]*\}", "", said), re.IGNORECASE)
    }
    assert called == set()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_called_as_a_term_brings_its_meaning_on_every_page(
    language, monkeypatch
):
    monkeypatch.setattr(language_module, "current_language", lambda: language)
    for name, meaning in (("temperature", "temperature"), ("top_k", "top_k")):
        expected = texts(language, "glossary")[f"{meaning}_meaning"]
        assert language_module.help_of(f"masked_word.{name}") == expected
    terms = {
        texts(language, "glossary")[name].split(" (")[0].split("（")[0].lower()
        for name in glossary_names()
    }
    for page in PAGES:
        for name, said in texts(language, page).items():
            if page != "glossary" and said.lower() in terms:
                assert language_module.help_of(f"{page}.{name}"), f"{page}.{name}"
    assert language_module.help_of("app.download") is None
