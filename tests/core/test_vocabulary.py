"""The vocabulary: its vectors, neighbours, axes, maps and the files of them."""

import dataclasses
import io
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.analysis.nearest_words import WordTable, rank_among
from bertviz_core.analysis.projector_files import metadata_tsv, vectors_tsv
from bertviz_core.analysis.wordlists import KINDS, MAIN_KINDS, main_kinds
from bertviz_core.checkpoints.catalogue import bundled_models
from bertviz_core.cli import main
from bertviz_core.errors import TextError
from bertviz_core.experiments import vocabulary_maps, word_axis
from bertviz_core.experiments.stored_maps import digest_of, find_map, store_map
from bertviz_core.experiments.vocabulary_maps import (
    draw_vocabulary_map,
    exported_vectors,
    map_by_pca,
    vocabulary_map,
)
from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vectors import (
    WordVectors,
    find_rows,
    nearest_words,
    solve_analogy,
    word_vectors,
)
from bertviz_core.explorer import Explorer
from bertviz_core.weights import as_numpy
from tests.core.brute_force import cosine
from tests.core.bundled import open_bundled
from tests.core.checkpoint_copies import HF
from tests.core.random_models import CONFIG, VOCABULARY


@pytest.fixture(scope="module")
def vectors(explorer):
    return word_vectors(explorer)


@pytest.fixture(scope="module")
def table(post_norm_model):
    return post_norm_model[1]["words"].astype(np.float64)


def row_of(word):
    return VOCABULARY.index(word)


def test_kinds_are_left_out_together(vectors):
    assert len(vectors.tokens) == CONFIG.vocab_size
    # Rows without a word are there and never an answer.
    assert vectors.tokens[len(VOCABULARY) :] == ("[row 21]", "[row 22]")
    every = np.arange(CONFIG.vocab_size) < len(VOCABULARY)
    np.testing.assert_array_equal(vectors.allowed(()), every)
    kept = vectors.allowed(("piece", "special", "cjk"))
    words = [vectors.tokens[i] for i in np.flatnonzero(kept)]
    assert " ".join(words) == "x the cat sat on a mat . e ! y z"
    with pytest.raises(ValueError, match="odd"):
        vectors.allowed(("odd",))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_nearest_are_those_of_a_loop(explorer, vectors, table, metric):
    found = nearest_words(explorer, vectors, "cat", 6, metric, ("piece",))
    own = row_of("cat")
    scores = {}
    for row, word in enumerate(VOCABULARY):
        if row != own and not word.startswith("##"):
            difference = np.sqrt(((table[row] - table[own]) ** 2).sum())
            is_cosine = metric == "cosine"
            scores[word] = -cosine(table[row], table[own]) if is_cosine else difference
    best = sorted(scores, key=scores.__getitem__)[:6]
    assert found.neighbours.words == tuple(best)
    expected = np.abs([scores[word] for word in best])
    np.testing.assert_allclose(np.abs(found.neighbours.scores), expected, 1e-6)
    assert (found.num_compared, found.num_entries) == (17, 23)
    lengths = np.sqrt((table**2).sum(axis=1))
    assert found.norm == pytest.approx(lengths[own])
    assert found.norm_rank == 1 + sum(lengths > lengths[own])


@pytest.mark.parametrize(
    ("typed", "entries"),
    [
        *(("cat", "cat"), (" CAT ", "cat"), ("##s", "##s"), ("红", "红")),
        *(("[MASK]", "[MASK]"), ("cats", "cat ##s"), ("the cat", "the cat")),
    ],
)
def test_a_word_is_found_as_the_model_reads_it(explorer, typed, entries):
    rows = tuple(row_of(entry) for entry in entries.split())
    assert find_rows(explorer, typed) == (rows if len(rows) > 1 else rows[0])


@pytest.mark.parametrize("typed", ["dog", "the dog"])
def test_what_the_model_cannot_read_is_refused(explorer, typed):
    with pytest.raises(TextError, match="no entry") as raised:
        find_rows(explorer, typed)
    assert "[UNK]" in raised.value.details["pieces"]
    with pytest.raises(TextError, match="no word to look up"):
        find_rows(explorer, "  ")


def test_neighbours_of_several_pieces_are_those_of_their_mean(explorer, vectors, table):
    found = nearest_words(explorer, vectors, "Cats", 4)
    mean = (table[row_of("cat")] + table[row_of("##s")]) / 2
    others = [word for word in VOCABULARY if word not in ("cat", "##s")]
    scores = {word: cosine(table[row_of(word)], mean) for word in others}
    best = sorted(others, key=scores.__getitem__, reverse=True)[:4]
    assert found.neighbours.words == tuple(best)
    assert (found.word, found.token_id) == ("Cats", None)
    assert found.in_pieces == (("Cats", ("cat", "##s")),)
    assert found.norm == pytest.approx(np.sqrt(mean @ mean))
    assert nearest_words(explorer, vectors, "cat").in_pieces == ()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_an_analogy_takes_words_of_several_pieces(explorer, vectors, table, metric):
    inputs, hoped = ("cats", "sat", "mat"), "the mat"
    found = solve_analogy(explorer, vectors, inputs, hoped, metric=metric)
    mean = (table[row_of("cat")] + table[row_of("##s")]) / 2
    query = mean - table[row_of("sat")] + table[row_of("mat")]
    target = (table[row_of("the")] + table[row_of("mat")]) / 2

    def nearness(vector):
        if metric == "cosine":
            return cosine(vector, query)
        return -np.sqrt(((vector - query) ** 2).sum())

    nearer = [w for w in VOCABULARY if nearness(table[row_of(w)]) > nearness(target)]
    assert found.rank == 1 + len(nearer)
    left = [word for word in nearer if word not in ("sat", "mat")]
    assert found.rank_without_inputs == 1 + len(left)
    assert found.inputs == inputs
    assert [word for word, _ in found.in_pieces] == ["cats", "the mat"]
    assert found.num_without_inputs == found.num_compared - 2


def test_without_hope_there_is_no_rank(explorer, vectors):
    found = solve_analogy(explorer, vectors, ("cat", "sat", "mat"), " ")
    assert (found.rank, found.rank_without_inputs, found.expected) == (None, None, "")
    # Words of a kind that is left out still take part if asked.
    asked = ("##s", "cat", "mat")
    found = solve_analogy(explorer, vectors, asked, "##e", without=("piece",))
    assert found.rank is not None
    assert found.num_compared == 1 + 18 + 1  # both pieces, and what is no piece


def test_words_lie_between_two_words_where_projection_puts_them(
    explorer, vectors, table
):
    words = ("sat", "cat", "on", "sat")
    found = project_words(explorer, vectors, "cat", "mat", words, ("piece",))
    start, end = table[row_of("cat")], table[row_of("mat")]
    direction = end - start
    assert found.words == ("sat", "cat", "on")
    assert found.positions[1] == pytest.approx(0, abs=1e-6)
    offset = table[row_of("on")] - start
    assert found.positions[2] == pytest.approx(
        offset @ direction / (direction @ direction), abs=1e-5
    )
    others = [
        cosine(table[row], direction)
        for row, word in enumerate(VOCABULARY)
        if not word.startswith("##") and word not in ("cat", "mat")
    ]
    assert found.num_compared == len(others)
    own = cosine(table[row_of("on")], direction)
    assert found.cosines[2] == pytest.approx(own, abs=1e-6)
    share = np.mean(np.array(others) < own - 1e-6)
    assert found.percentiles[2] == pytest.approx(share)
    assert found.second_end.scores[0] == pytest.approx(max(others), abs=1e-6)
    assert found.first_end.scores[0] == pytest.approx(-min(others), abs=1e-6)


def test_one_word_is_no_axis(explorer, vectors, monkeypatch):
    with pytest.raises(TextError, match="Two different words"):
        project_words(explorer, vectors, "cat", "CAT", ("on",))
    monkeypatch.setattr(word_axis, "MAX_WORDS", 2)
    with pytest.raises(TextError, match="too many words"):
        project_words(explorer, vectors, "cat", "mat", ("on", "a", "the"))


def test_an_axis_of_pairs_is_their_mean_step(explorer, vectors, table):
    first, second = ("cat", "sat", "cat"), ("mat", "cats", "sat")
    found = project_words(explorer, vectors, first, second, ("on", "cats"))
    cat, sat, mat = (table[row_of(word)] for word in ("cat", "sat", "mat"))
    cats = (cat + table[row_of("##s")]) / 2
    steps = [mat - cat, cats - sat, sat - cat]
    direction = np.mean(steps, axis=0)
    expected = [cosine(table[row_of("on")], direction), cosine(cats, direction)]
    np.testing.assert_allclose(found.cosines, expected, atol=1e-6)
    assert (found.first, found.second) == (first, second)
    assert found.in_pieces == (("cats", ("cat", "##s")),)
    assert found.num_compared == len(VOCABULARY) - 3  # cats is no entry


def test_without_the_axis_neighbours_are_those_of_the_rest(explorer, vectors, table):
    found = remove_axis(explorer, vectors, "on", "cat", "mat")
    unit = table[row_of("mat")] - table[row_of("cat")]
    unit = unit / np.sqrt(unit @ unit)
    rest = table - np.outer(table @ unit, unit)
    own = row_of("on")
    others = [row for row in range(len(VOCABULARY)) if row != own]
    after = sorted(others, key=lambda row: -cosine(rest[row], rest[own]))[:10]
    assert found.after.ids.tolist() == after
    expected = [cosine(rest[row], rest[own]) for row in after]
    np.testing.assert_allclose(found.after.scores, expected, atol=1e-6)
    before = sorted(others, key=lambda row: -cosine(table[row], table[own]))[:10]
    assert found.before.ids.tolist() == before
    along = (table[own] @ unit) ** 2 / (table[own] @ table[own])
    assert found.share == pytest.approx(along)
    # As that of [PAD] in models that were trained at Hugging Face's.
    zero = WordTable(np.where(np.arange(len(table))[:, None] == own, 0, table))
    empty = dataclasses.replace(vectors, table=zero)
    assert remove_axis(explorer, empty, "on", "cat", "mat").share == 0


ROWS = 501


@pytest.fixture(scope="module")
def crowded():
    """Far from the origin and close together, with twins and a zero."""
    rng = np.random.default_rng(2)
    table = (5 + rng.normal(size=(ROWS, 13)) * 1e-3).astype("f4")
    table[40:44] = table[39]
    table[77] = 0
    table[100:200] = rng.normal(size=(100, 13))
    return table


def scores_by_hand(crowded, query, metric):
    wide = crowded.astype("f8")
    if metric == "euclidean":
        return np.array([np.sqrt(((row - query) ** 2).sum()) for row in wide])
    lengths = [np.linalg.norm(row) * np.linalg.norm(query) for row in wide]
    return np.array(
        [row @ query / n if n else 0 for row, n in zip(wide, lengths, strict=True)]
    )


def order_by_hand(crowded, query, metric, rows):
    scores = scores_by_hand(crowded, query, metric)
    signed = -scores if metric == "cosine" else scores
    return sorted(rows, key=lambda row: (round(signed[row], 15), row))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("row", [0, 41, 77, 150])
@pytest.mark.parametrize("num_neighbours", [10, ROWS + 3])
def test_neighbours_equal_a_full_sort(crowded, metric, row, num_neighbours):
    query = crowded[row].astype("f8") + 1e-4
    found = WordTable(crowded).nearest(query, num_neighbours, metric)
    expected = order_by_hand(crowded, query, metric, range(ROWS))[:num_neighbours]
    scores = scores_by_hand(crowded, query, metric)
    assert len(found.ids) == min(num_neighbours, ROWS)
    np.testing.assert_allclose(found.scores, scores[expected], rtol=0, atol=1e-13)
    if num_neighbours == 10:
        assert found.ids.tolist() == expected


def test_only_what_is_allowed_is_found(crowded):
    allowed = np.zeros(ROWS, bool)
    allowed[[3, 9, 200]] = True
    found = WordTable(crowded).nearest(crowded[3], 7, allowed=allowed)
    assert found.ids[0] == 3
    assert sorted(found.ids) == [3, 9, 200]
    nothing = WordTable(crowded).nearest(crowded[3], 7, allowed=allowed & False)
    assert not len(nothing.ids)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_ranks_count_the_rows_that_are_nearer(crowded, metric):
    query = crowded[300].astype("f8") + 0.01
    scores = scores_by_hand(crowded, query, metric)
    found = WordTable(crowded).scores(query, metric)
    for row in (0, 43, 77, 130, 300, 500):
        ahead = scores - scores[row] if metric == "cosine" else scores[row] - scores
        (alone,) = WordTable(crowded[row, None].astype("f8")).scores(query, metric)
        assert alone == found[row]
        assert rank_among(found, alone, metric) == 1 + (ahead > 1e-14).sum()


ROYAL = ("king", "man", "woman", "queen", "royal", "apple")
PLANE = np.array([[5, 1], [1, 1], [1, 3], [5, 2.5], [5, 2.9], [-4, 0]], "f4")


def royal(inputs, expected):
    explorer = SimpleNamespace(tokenizer=SimpleNamespace(vocabulary=ROYAL))
    kinds = dict.fromkeys(KINDS, np.zeros(6, bool))
    vectors = WordVectors(ROYAL, WordTable(PLANE), kinds)
    return solve_analogy(explorer, vectors, inputs.split(), expected, 4, "euclidean")


def test_an_analogy_has_both_ranks():
    # king - man + woman = (5, 3): nearest are royal, queen, king; in Euclid's
    # measure 0.1, 0.5, 2, then woman at 4.
    found = royal("king man woman", "queen")
    assert found.nearest.words == ("royal", "queen", "king", "woman")
    np.testing.assert_allclose(found.nearest.scores, [0.1, 0.5, 2, 4], atol=1e-6)
    assert found.nearest_without_inputs.words == ("royal", "queen", "apple")
    assert (found.rank, found.rank_without_inputs) == (2, 2)


def test_the_inputs_themselves_may_stand_before_the_expected_word():
    # king - apple + royal = (14, 3.9); from it apple is furthest of all.
    found = royal("king apple royal", "apple")
    assert (found.rank, found.rank_without_inputs) == (6, None)
    # (5, 1) - (5, 2.5) + (1, 3) = (1, 1.5): man 0.5, woman 1.5, then queen.
    found = royal("king queen woman", "royal")
    assert found.nearest.words[:2] == ("man", "woman")
    assert (found.rank, found.rank_without_inputs) == (5, 2)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        *(((np.ones(3), 1), "query"), ((np.ones(2), 0), "num_neigh")),
        ((np.ones(2), 1, "taxi"), "metric"),
    ],
)
def test_questions_that_make_no_sense_are_refused(wrong, match):
    with pytest.raises(ValueError, match=match):
        WordTable(PLANE).nearest(*wrong)


NUM_ENTRIES, SIZE = 61, 8


@pytest.fixture(scope="module")
def entries():
    return np.random.default_rng(2).normal(size=(NUM_ENTRIES, SIZE)).astype("f4")


@pytest.fixture
def folder(tmp_path, cache):
    """A model that is a folder."""
    shutil.copytree(HF, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("num_axes", [2, 3])
def test_pca_places_every_entry_on_the_widest_axes(entries, num_axes, monkeypatch):
    pca = fit_pca(entries, num_axes)
    # Axes that are known already give the same map.
    for known in (None, fit_pca(entries, 3)):
        found = map_by_pca(entries, num_axes, pca=known)
        np.testing.assert_allclose(found.coordinates, pca.project(entries), atol=1e-6)
        assert found.explained == pytest.approx(pca.explained.sum())
        assert found.quality == map_quality(entries, pca.project(entries), 10)
    monkeypatch.setattr(vocabulary_maps, "CHECKED_AT_ONCE", 17)
    quality = map_by_pca(entries, seed=3).quality
    assert (quality.num_checked, quality.num_points) == (17, NUM_ENTRIES)


def test_only_what_a_page_can_write_is_exported(entries, monkeypatch):
    words = WordVectors((), WordTable(entries), {})
    np.testing.assert_array_equal(
        exported_vectors(words, (4, 60, 0)), entries[[4, 60, 0]]
    )
    monkeypatch.setattr(vocabulary_maps, "MAX_EXPORTED_NUMBERS", 2 * SIZE + 1)
    with pytest.raises(TextError, match="too many vectors") as raised:
        exported_vectors(words, (1, 2, 3))
    assert raised.value.details == {"count": 3, "limit": 2}
    with pytest.raises(ValueError, match="below"):
        exported_vectors(words, (NUM_ENTRIES,))


def test_the_digest_is_of_numbers_and_shape(entries):
    changed = entries.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 9)
    turned = entries.reshape(SIZE, NUM_ENTRIES)
    digests = {digest_of(v) for v in (entries, changed, turned)}
    assert len(digests) == 3
    assert digest_of(entries) == digest_of(entries.astype("f8"))


def test_a_map_comes_back_from_the_cache_as_it_was(entries, cache):
    made = dataclasses.replace(map_by_pca(entries), neighbourhood=30.0)
    digest = digest_of(entries)
    assert find_map("some-hub/name", digest, 2, NUM_ENTRIES) is None
    path = store_map(made, "some-hub/name", digest)
    assert path.is_relative_to(cache)
    found = find_map("some-hub/name", digest, 2, NUM_ENTRIES)
    step = np.ptp(made.coordinates, axis=0).max() / 65_535
    np.testing.assert_allclose(
        found.coordinates, made.coordinates, atol=step * 0.51 + 1e-6
    )
    assert found.quality == made.quality
    assert found.neighbourhood == 30.0
    # What an earlier version told besides is passed over.
    with np.load(path) as arrays:
        held = dict(arrays)
    facts = json.loads(held["facts"].tobytes()) | {"divergence": 0.5}
    held["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(path, **held)
    assert find_map("some-hub/name", digest, 2, NUM_ENTRIES).quality == made.quality


def test_a_map_lies_beside_a_model_that_is_a_folder(entries, cache, folder):
    digest, model_id = digest_of(entries), str(folder)
    path = store_map(map_by_pca(entries, 3), model_id, digest)
    assert path == folder / "vocabulary_map_3d.npz"
    assert not (cache / "vocabulary_maps").exists()
    assert find_map(model_id, digest, 3, NUM_ENTRIES) is not None
    assert find_map(model_id, digest, 2, NUM_ENTRIES) is None
    # One of other weights is not shown.
    assert find_map(model_id, digest_of(entries + 1), 3, NUM_ENTRIES) is None
    assert find_map(model_id, digest, 3, NUM_ENTRIES + 1) is None


def pickled():
    file = io.BytesIO()
    np.savez(file, coordinates=np.array([object()]))
    return file.getvalue()


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 no zip", b"\x93NUMPY nothing", pickled()]
)
def test_a_broken_file_is_as_none(entries, folder, content):
    (folder / "vocabulary_map_2d.npz").write_bytes(content)
    assert find_map(str(folder), digest_of(entries), 2, NUM_ENTRIES) is None


def test_the_command_draws_both_maps_and_writes_the_tables(folder, tmp_path):
    arguments = ["--model", str(folder), "--perplexity", "3", "--seed", "4"]
    result = CliRunner().invoke(
        main, ["map-vocabulary", *arguments, "--tsv", str(tmp_path / "tables")]
    )
    assert result.exit_code == 0, result.output
    assert "trustworthiness" in result.stdout
    explorer = Explorer.open(str(folder))
    table = as_numpy(explorer.loaded.model.embeddings.word_embeddings)
    for num_axes in (2, 3):
        found = find_map(str(folder), digest_of(table), num_axes, len(table))
        assert (found.method, found.seed, found.neighbourhood) == ("tsne", 4, 3.0)
    written = (tmp_path / "tables" / "vectors.tsv").read_text("utf-8").splitlines()
    rows = [[float(number) for number in line.split("\t")] for line in written]
    np.testing.assert_array_equal(np.array(rows, "f4"), table)
    names = (tmp_path / "tables" / "metadata.tsv").read_text("utf-8").splitlines()
    assert len(names) == len(table) + 1


def test_the_first_kind_that_fits_is_the_main_one():
    tokens = ("[row 7]", "[unused3]", "[MASK]", "##红", "红", "水果", "q", "word", "##")
    kinds = [MAIN_KINDS[i] for i in main_kinds(tokens)]
    assert kinds[:5] == ["empty", "unused", "special", "piece", "cjk"]
    assert kinds[5:] == ["cjk", "single_character", "word", "word"]
    assert set(MAIN_KINDS[:-1]) == set(KINDS)


@pytest.mark.parametrize("model_id", [entry.model_id for entry in bundled_models()])
def test_the_bundled_maps_are_of_the_bundled_weights(model_id):
    explorer = open_bundled(model_id)
    table = as_numpy(explorer.loaded.model.embeddings.word_embeddings)
    for num_axes in (2, 3):
        found = find_map(model_id, digest_of(table), num_axes, len(table))
        assert found.method == "tsne"
        assert found.coordinates.shape == (len(table), num_axes)
        assert found.quality.num_points == len(table)
        assert find_map(model_id, "0", num_axes, len(table)) is None


def test_the_pca_map_is_there_at_once_and_the_other_when_it_was_drawn(cache, explorer):
    words = word_vectors(explorer)
    assert vocabulary_map(explorer, words).method == "pca"
    assert vocabulary_map(explorer, words, 2, "tsne") is None
    # Other settings than the usual ones are the visitor's own.
    other = draw_vocabulary_map(explorer, words, "tsne", 2, 3, 3.0)
    assert (other.seed, other.neighbourhood) == (3, 3.0)
    assert vocabulary_map(explorer, words, 2, "tsne") is None
    drawn = draw_vocabulary_map(explorer, words)
    stored = vocabulary_map(explorer, words, 2, "tsne")
    step = np.ptp(drawn.coordinates, axis=0).max() / 65_535
    np.testing.assert_allclose(stored.coordinates, drawn.coordinates, atol=step + 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vectors_read_back_as_the_same_floats(dtype):
    points = np.random.default_rng(1).normal(size=(5, 3)).astype(dtype)
    points[0] = [0.1, -1e-7, 3e20]
    written = vectors_tsv(points)
    assert written.endswith("\n")
    rows = [line.split("\t") for line in written[:-1].split("\n")]
    np.testing.assert_array_equal(np.array(rows).astype(dtype), points)


@pytest.mark.parametrize("points", [np.ones(3), np.array([[1, np.nan]])])
def test_what_is_not_a_table_of_numbers_is_refused(points):
    with pytest.raises(ValueError, match="points"):
        vectors_tsv(points)


UNRULY = ["a\tb", "a\nb", "a\r\nb", "\\t", "\\", "", "  ", "\n", "a\\\tb"]


def unescaped(text):
    """Reads the escapes one by one, as the docstring tells them."""
    plain, rest = "", iter(text)
    meaning = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    for character in rest:
        plain += meaning[next(rest)] if character == "\\" else character
    return plain


def test_no_word_breaks_a_line_or_gets_lost():
    lines = metadata_tsv({"token": UNRULY}).split("\n")
    assert lines.pop() == ""
    assert lines.pop(0) == "token\trow"
    assert all(line.strip() for line in lines)  # the projector skips blank lines
    cells = [line.split("\t") for line in lines]
    assert [unescaped(token) for token, _ in cells] == UNRULY
    assert [int(row) for _, row in cells] == list(range(len(UNRULY)))


def test_what_a_spreadsheet_would_run_becomes_text_and_a_sign_alone_stays():
    written = metadata_tsv({"=a": ["=a", *"=+-@"]})
    assert written == "'=a\trow\n'=a\t0\n=\t1\n+\t2\n-\t3\n@\t4\n"


@pytest.mark.parametrize(
    "columns", [{}, {"a": [1], "b": [1, 2]}, {"row": [1]}, {"a": [1], "row": [2]}]
)
def test_columns_that_do_not_fit_are_refused(columns):
    with pytest.raises(ValueError, match="columns"):
        metadata_tsv(columns)
    written = metadata_tsv({"token": ["cat", "##红"], "layer": [3, 12]})
    assert written == "token\tlayer\trow\ncat\t3\t0\n##红\t12\t1\n"
