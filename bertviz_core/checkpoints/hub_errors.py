"""What the hub's library raises, as one sentence each."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from bertviz_core.errors import CheckpointError


@contextlib.contextmanager
def hub_errors(name: str, revision: str) -> Iterator[None]:
    """Turns errors of `huggingface_hub` into those that a user can mend."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise CheckpointError(
            "The model {name} is available only to people who have accepted its "
            "conditions. Accept them on its page on the Hugging Face hub, log in with "
            "`hf auth login`, and try again.",
            name=name,
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise CheckpointError(
            "The Hugging Face hub has no model named {name}, or it is private. Check "
            "the spelling.",
            name=name,
        ) from error
    except errors.RevisionNotFoundError as error:
        raise CheckpointError(
            "The model {name} has no revision {revision} on the Hugging Face hub. Omit "
            "the revision to use the newest.",
            name=name,
            revision=revision,
        ) from error
    except (
        errors.HTTPError,
        errors.EntryNotFoundError,
        errors.RevisionResolutionError,
        errors.XetDownloadError,
        OSError,
    ) as error:
        raise _unreachable(name, error) from error


def _unreachable(name: str, error: Exception) -> CheckpointError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return CheckpointError(
            "The disk filled up while the model {name} was being downloaded. Free some "
            "space and try again.",
            name=name,
        )
    if status is not None:
        return CheckpointError(
            "The Hugging Face hub refused to provide the model {name}. Received: HTTP "
            "status {status}. Try again later.",
            name=name,
            status=status,
        )
    return CheckpointError(
        "The Hugging Face hub cannot be reached, so the model {name} cannot be "
        "downloaded. Check the connection and try again, or choose a bundled or "
        "downloaded model, or a folder or zip file with the model.",
        name=name,
    )
