"""Fetching from the Hugging Face hub, or from a mirror that HF_ENDPOINT names, into the hub's own cache."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import damage
from homogenization.run.regular_files import sha256_of
from homogenization.run.secrets import first_line, hide

_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch(
    asked: str, repository: str, revision: str | None, files: Sequence[str], left_out: Sequence[str] = ()
) -> Path:
    """Fetch files of a model repository. If the cache holds a commit's files, the hub is not asked.

    Args:
        asked: What is fetched, as a message names it.
        repository: Id on the hub.
        revision: Commit, branch or tag; None: the branch main.
        files: Patterns of the files to fetch.
        left_out: Patterns of files among them that are not needed.

    Returns:
        The folder in the hub's cache. Its name is the commit.

    Raises:
        HomogenizationError: the hub does not give the files.
    """
    from httpx2 import HTTPError
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(
            snapshot_download(
                repository, revision=revision, allow_patterns=list(files), ignore_patterns=list(left_out) or None
            )
        )
    except (OSError, HTTPError, HFValidationError) as error:
        advice = hub_advice(error, repository, "give the folder as weights: {path: ...}")
        raise HomogenizationError(f"{asked} could not be fetched: {advice}") from error


def cached_digests(folder: Path) -> dict[str, str]:
    """SHA-256 by path of the large files of a snapshot in the hub's cache: each is a link to a file of that name.

    The names of small files are Git hashes, which are shorter.
    """
    links = {str(path.relative_to(folder)): path.readlink().name for path in folder.rglob("*") if path.is_symlink()}
    return {path: name for path, name in links.items() if _SHA256.fullmatch(name)}


def check_cached(folder: Path, pattern: str = "*") -> None:
    """Compare large files of a snapshot in the hub's cache with their digests: the client compares sizes alone.

    Args:
        folder: The snapshot.
        pattern: Of the paths of the files to compare.

    Raises:
        HomogenizationError: a file differs; it was moved aside.
    """
    for name, digest in sorted(cached_digests(folder).items()):
        if not fnmatch(name, pattern):
            continue
        actual = sha256_of(folder / name)
        if actual != digest:
            raise damaged_in_cache(folder / name, f"its SHA-256 is {actual}, and should be {digest}")


def damaged_in_cache(path: Path, reason: str) -> HomogenizationError:
    """Move aside a damaged file of the hub's cache, and return the error for the caller to raise."""
    return damage(path, reason, "damaged", "fetches it again")


def hub_advice(error: BaseException, page: str, alternative: str) -> str:
    """What went wrong on the hub, and what the user can do about it.

    Args:
        error: What a client of the hub raised. The errors behind it are looked at too.
        page: Path of the repository's page on huggingface.co.
        alternative: What to do with files that were downloaded elsewhere.
    """
    from httpx2 import ConnectError, ConnectTimeout, TransportError
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import (
        FileMetadataError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    hide(get_token())  # which may lie in a file

    def found(*kinds: type[BaseException]) -> BaseException | None:
        return next((behind for behind in _chain(error) if isinstance(behind, kinds)), None)

    login = "log in with `hf auth login` or set HF_TOKEN"
    elsewhere = f"or download it elsewhere and {alternative}"
    hub = (
        constants.ENDPOINT if constants.ENDPOINT == "https://huggingface.co" else f"{constants.ENDPOINT} (HF_ENDPOINT)"
    )
    # the most specific first: many of these are errors of HTTP, and all are errors of the system
    if gated := found(GatedRepoError):
        if _status(gated) == 403:
            return (
                f"it is gated, and the account of this token has no access. Accept the licence on "
                f"https://huggingface.co/{page} with this account and wait for the approval (a fine-grained token also "
                f"needs the permission to read gated repositories), {elsewhere}."
            )
        return f"it is gated. Accept its licence on https://huggingface.co/{page}, {login}, {elsewhere}."
    if found(RepositoryNotFoundError):
        return f"{hub} knows nothing of this name, or it is private. Check the spelling, {login}, {elsewhere}."
    if found(RevisionNotFoundError):
        return "it has no such revision. Give a commit, branch or tag that its page lists."
    if found(HFValidationError):
        return f"this is no hub id. One looks like 'organisation/name'. For local files, {alternative}."
    if found(OfflineModeIsEnabled) or (constants.is_offline_mode() and found(LocalEntryNotFoundError, ConnectionError)):
        return (
            f"HF_HUB_OFFLINE is set, and the cache in {constants.HF_HUB_CACHE} does not hold all of its files. Fetch "
            f"them into this cache where there is a network, without HF_HUB_OFFLINE, {elsewhere}."
        )
    if answer := found(HfHubHTTPError):
        return _answered(answer, hub, login, elsewhere)
    if found(FileMetadataError):
        return f"{hub} does not answer as a hub does. Check HF_ENDPOINT and the proxy, {elsewhere}."
    if refused := found(ConnectError, ConnectTimeout) or found(LocalEntryNotFoundError, ConnectionError):
        return (
            f"there is no network, or {hub} is down ({first_line(refused)}), and the local cache does not hold all of "
            f"its files. Check the connection, {elsewhere}."
        )
    if broken := found(TransportError):
        return (
            f"the download from {hub} broke off ({first_line(broken)}). No partial file was kept. Run the same "
            "command again; files that are complete are not fetched again."
        )
    return f"{first_line(error)}. Check network and disk, {login}, {elsewhere}."


def unreachable(error: BaseException) -> bool:
    """Whether `error` says that the hub was not asked or gave no answer, so that the cache is all there is."""
    from httpx2 import TransportError
    from huggingface_hub.errors import HfHubHTTPError

    return any(
        isinstance(behind, (TransportError, ConnectionError))
        or (isinstance(behind, HfHubHTTPError) and (_status(behind) == 429 or _status(behind) >= 500))
        for behind in _chain(error)
    )


def _answered(error: BaseException, hub: str, login: str, elsewhere: str) -> str:
    """The advice for an answer that is an error of HTTP."""
    status = _status(error)
    if status == 401:
        return f"{hub} does not know this token. Make a new one on its page of tokens, {login}, {elsewhere}."
    if status == 429:
        return (
            f"{hub} refuses further requests for a while (429, too many requests). Wait some minutes, {login} (which "
            f"raises the limit), and run the same command again."
        )
    if status >= 500:
        return f"{hub} answers with an error ({status}). Run the same command again later, {elsewhere}."
    return f"{hub} refuses it ({first_line(error)}). Check the permissions of the token, {login}, {elsewhere}."


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those behind it, also where it was raised `from None`."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int:
    """The status of the answer behind an error of HTTP."""
    return error.response.status_code
