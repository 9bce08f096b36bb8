"""The command `map-vocabulary`."""

from pathlib import Path

import click

from bertviz_core.command_parts import FiniteRange, model_option, open_explorer


@click.command()
@model_option
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0, max=2**32 - 1)
)
@click.option(
    "--perplexity",
    default=30.0,
    show_default=True,
    type=FiniteRange(min=2.0),
    help="About how many neighbours each word has.",
)
@click.option(
    "--axes", default="both", show_default=True, type=click.Choice(["2", "3", "both"])
)
@click.option(
    "--tsv",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write vectors.tsv and metadata.tsv, all entries, for the "
    "TensorFlow projector, into this folder.",
)
def map_vocabulary(
    model_id: str | None, seed: int, perplexity: float, axes: str, tsv: Path | None
) -> None:
    """Draw maps of a model's vocabulary by t-SNE, for the page to show at once.

    The maps, vocabulary_map_2d.npz and vocabulary_map_3d.npz, are written beside a
    bundled model or a folder, else into the cache. Minutes for 30,000 words.
    """
    from bertviz_core.experiments.stored_maps import digest_of, store_map
    from bertviz_core.experiments.vocabulary_maps import map_by_neighbours
    from bertviz_core.experiments.word_vectors import word_vectors

    explorer = open_explorer(model_id)
    words = word_vectors(explorer)
    vectors = words.table.vectors
    if tsv is not None:
        _write_tables(tsv, words.tokens, vectors)
    for num_axes in (2, 3) if axes == "both" else (int(axes),):
        found = map_by_neighbours(vectors, "tsne", num_axes, seed, _tell, perplexity)
        path = store_map(found, explorer.model_id, digest_of(vectors))
        if (quality := found.quality) is None:
            continue  # no vocabulary is so small
        click.echo(
            f"{path}\ttrustworthiness {quality.trustworthiness:.3f}\t"
            f"neighbours kept {quality.neighbours_kept:.3f} "
            f"(k = {quality.num_neighbours}, {quality.num_checked} of "
            f"{quality.num_points} points checked)"
        )


def _write_tables(folder: Path, tokens: tuple[str, ...], vectors: object) -> None:
    import numpy as np

    from bertviz_core.analysis.projector_files import metadata_tsv, vectors_tsv
    from bertviz_core.whole_files import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "vectors.tsv", vectors_tsv(np.asarray(vectors)))
    write_whole(folder / "metadata.tsv", metadata_tsv({"word": tokens}))
    click.echo(str(folder))


def _tell(share: float, message: str) -> None:
    click.echo(f"{message}: {share:.0%}", err=True)
