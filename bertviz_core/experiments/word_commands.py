"""The commands `sample`, `fill` and `score`."""

from typing import Any

import click

from bertviz_core.command_parts import (
    Answer,
    FiniteRange,
    answer_text,
    model_option,
    open_explorer,
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_ORDERS = ("random", "in_order")
_MODES = ("most_confident_first", "left_to_right", "independent")


@click.command()
@click.argument("text")
@model_option
@click.option("--steps", default=30, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--order", default="random", show_default=True, type=click.Choice(_ORDERS)
)
@click.option(
    "--temperature",
    default=1.0,
    show_default=True,
    type=FiniteRange(min=0.0, max=1e6),
    help="Divides the logits; 0 always draws the best word.",
)
@click.option(
    "--top-k", type=click.IntRange(min=1), help="Draw from so many best words."
)
@click.option(
    "--top-p",
    default=1.0,
    show_default=True,
    type=FiniteRange(min=0.0, max=1.0, min_open=True),
    help="Draw from the best words that reach this probability together.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--chains", default=1, show_default=True, type=click.IntRange(1, 64))
@click.option("--only-masks", is_flag=True, help="Leave all other words as they are.")
@json_option
def sample(
    text: str,
    model_id: str | None,
    steps: int,
    only_masks: bool,
    as_json: bool,
    chains: int,
    **draws: Any,
) -> None:
    """Draw the words of TEXT anew, one a step; `-` reads a text a line from stdin."""
    from bertviz_core.experiments.chain_results import GibbsSettings

    explorer = open_explorer(model_id)
    from bertviz_core.experiments.gibbs import run_chain, start_chain

    settings = GibbsSettings(num_chains=chains, **draws)

    def answer(one: str) -> Answer:
        places = None
        if only_masks:
            places = explorer.require_masks(one).mask_positions.tolist()
        start = start_chain(explorer, one, settings, positions=places)
        run = run_chain(explorer, start, steps)
        words = explorer.vocabulary
        return {
            "model": explorer.model_id,
            "chains": [
                {
                    "tokens": [words[i] for i in run.end.input_ids[chain]],
                    "steps": [
                        {
                            "position": int(run.positions[step, chain]),
                            "old": words[run.old_ids[step, chain]],
                            "new": words[run.new_ids[step, chain]],
                            "log_prob": float(run.log_probs[step, chain]),
                        }
                        for step in range(run.num_steps)
                    ],
                }
                for chain in range(chains)
            ],
        }

    def show(found: Answer) -> str:
        return "\n".join(" ".join(chain["tokens"]) for chain in found["chains"])

    answer_text(text, as_json, answer, show)


@click.command()
@click.argument("text")
@model_option
@click.option(
    "--mode",
    default=_MODES[0],
    show_default=True,
    type=click.Choice(_MODES),
    help="Which mask is filled next; independent fills all from one reading.",
)
@json_option
def fill(text: str, model_id: str | None, mode: str, as_json: bool) -> None:
    """Fill all masks of TEXT together; `-` reads a text a line from stdin."""
    explorer = open_explorer(model_id)
    from bertviz_core.experiments.joint_filling import fill_masks

    def answer(one: str) -> Answer:
        found = fill_masks(explorer, one, mode)
        return {
            "model": explorer.model_id,
            "tokens": [explorer.vocabulary[i] for i in found.steps[-1].input_ids],
            "log_prob": found.log_prob,
            "steps": [
                {
                    "mask": step.mask_index,
                    "position": step.position,
                    "token": step.token,
                    "log_prob": step.log_prob,
                }
                for step in found.steps
            ],
        }

    def show(found: Answer) -> str:
        return f"{' '.join(found['tokens'])}\tlog-probability {found['log_prob']:.4f}"

    answer_text(text, as_json, answer, show)


@click.command()
@click.argument("text")
@model_option
@click.option(
    "--within-word",
    is_flag=True,
    help="Also hide the later pieces of the same word, which would give it away.",
)
@json_option
def score(text: str, model_id: str | None, within_word: bool, as_json: bool) -> None:
    """Score TEXT, each token hidden in turn; `-` reads a text a line from stdin."""
    explorer = open_explorer(model_id)
    from bertviz_core.experiments.scoring import score_sentence

    def answer(one: str) -> Answer:
        variant = "within_word" if within_word else "naive"
        found = score_sentence(explorer, one, variant=variant)
        return {
            "model": explorer.model_id,
            "log_prob": found.log_prob,
            "perplexity": found.perplexity,
            "tokens": [
                {
                    "token": found.tokenized.tokens[position],
                    "position": int(position),
                    "log_prob": float(log_prob),
                    "rank": int(rank),
                }
                for position, log_prob, rank in zip(
                    found.positions, found.log_probs, found.ranks, strict=True
                )
            ],
        }

    def show(found: Answer) -> str:
        rows = [f"{one['log_prob']:9.4f}  {one['token']}" for one in found["tokens"]]
        total = f"{found['log_prob']:9.4f}  perplexity {found['perplexity']:.2f}"
        return "\n".join([*rows, total])

    answer_text(text, as_json, answer, show)
