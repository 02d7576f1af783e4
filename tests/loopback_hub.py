"""A hub on loopback that speaks as huggingface.co does to `huggingface_hub` and `datasets`, and fails on request."""

import json
import re
import threading
import time
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = (".safetensors", ".bin", ".pth", ".parquet", ".msgpack", ".h5", ".gguf")  # what Git LFS holds
_API = re.compile(r"/api/(models|datasets)/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/([^/]+)(?:/(.+))?)?")
_RESOLVE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


@dataclass
class Repository:
    """One commit of a repository.

    Attributes:
        commit: Its revision; there are no others, and `main` points to it.
        files: Content by path.
        members: Tokens that may read a gated repository; None if it is open to all.
        kind: "models" or "datasets".
    """

    commit: str
    files: dict[str, bytes]
    members: set[str] | None = None
    kind: str = "models"

    def described(self, path: str) -> dict[str, Any]:
        """The entry of a file in a listing."""
        content = self.files[path]
        entry = {"type": "file", "path": path, "size": len(content), "oid": _git_hash(content)}
        if path.endswith(LARGE):
            entry["lfs"] = {"oid": sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return entry


def files_in(folder: Path) -> dict[str, bytes]:
    """The files of a folder, by path."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@dataclass
class Faults:
    """What the hub does wrong. By path of a file: (model or data set id, path in it).

    Attributes:
        cuts: How often a download still ends in the middle.
        altered: Files of which a byte arrives flipped.
        status: Of every answer; None: as it should be.
        seconds: Pause in each download of a large file.
    """

    cuts: dict[tuple[str, str], int] = field(default_factory=dict)
    altered: set[tuple[str, str]] = field(default_factory=set)
    status: int | None = None
    seconds: float = 0.0


class LoopbackHub:
    """Serves repositories from threads of this process; use it in a `with` block.

    Attributes:
        repositories: By id.
        faults: To be set and taken back at any time.
        accounts: Tokens that it knows; others are refused.
        endpoint: The value for HF_ENDPOINT.
        storage: Where downloads of large files are sent to.
        requests: (method, path) of all requests, in the order in which they came.
        ranges: (path of a file, first byte) of all downloads.
        shown: Tokens that came with requests to the storage, None for requests without one.
    """

    def __init__(self, repositories: dict[str, Repository], accounts: set[str]):
        self.repositories = repositories
        self.accounts = accounts
        self.faults = Faults()
        self.requests: list[tuple[str, str]] = []
        self.ranges: list[tuple[str, int]] = []
        self.shown: set[str | None] = set()
        self.lock = threading.Lock()
        # large files lie on another machine than the hub's own, which is to see no token
        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(self)) for _ in range(2)]
        self.endpoint, self.storage = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def __enter__(self) -> "LoopbackHub":
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def downloaded(self, repository: str) -> set[str]:
        """The paths of files in a repository whose content was asked for."""
        paths = (unquote(path) for method, path in self.requests if method == "GET")
        found = (
            re.fullmatch(rf"/(?:datasets/)?{re.escape(repository)}/(?:resolve|cdn)/[^/]+/(.+)", path) for path in paths
        )
        return {match[1] for match in found if match}


def _git_hash(content: bytes) -> str:
    return sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _handler(hub: LoopbackHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
            self.token = token if scheme == "Bearer" else None
            url = urlsplit(self.path)
            path = unquote(url.path)
            with hub.lock:
                hub.requests.append((self.command, path))
                if "/cdn/" in path:
                    hub.shown.add(self.token)
            if hub.faults.status is not None:
                self.refuse(hub.faults.status, "", "The hub is busy or broken")
            elif self.token is not None and self.token not in hub.accounts:
                self.refuse(401, "", "Invalid credentials in Authorization header")
            elif match := _API.fullmatch(path):
                self.describe(*match.groups(), parse_qs(url.query), parse_qs(body.decode()))
            elif match := _RESOLVE.fullmatch(path):
                self.resolve(*match.groups())
            elif match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/cdn/[^/]+/(.+)", path):
                time.sleep(hub.faults.seconds)
                self.send_file(match[2], match[3])
            elif path == "/api/agent-harnesses":  # the client asks once a day, whatever it is about to do
                self.send_json({"standardEnvVars": [], "harnesses": {}})
            else:
                self.refuse(404, "", "Not found")

        def repository(self, kind: str, name: str, revision: str | None) -> Repository | None:
            """The repository, or None after an answer that says what is wrong."""
            found = hub.repositories.get(name)
            if found is None or found.kind != kind:
                # the real hub does not tell strangers what exists
                self.refuse(404 if self.token else 401, "RepoNotFound", "Repository not found")
            elif revision not in (None, "main", found.commit):
                self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            else:
                return found
            return None

        def describe(
            self,
            kind: str,
            name: str,
            what: str | None,
            revision: str | None,
            path: str | None,
            query: dict,
            form: dict,
        ) -> None:
            repository = self.repository(kind, name, revision)
            if repository is None:
                return
            if what == "tree":
                self.list_tree(repository, path, query)
            elif what == "paths-info":
                self.send_json([found for path in form["paths"] for found in self.entries(repository, path)])
            else:
                siblings = [{"rfilename": path} for path in repository.files]
                gated = "manual" if repository.members is not None else False
                known = {"id": name, "sha": repository.commit, "siblings": siblings, "gated": gated}
                self.send_json(known | {"private": False, "tags": [], "downloads": 0, "likes": 0})

        def entries(self, repository: Repository, path: str) -> list[dict]:
            """The file at `path`, or the folder."""
            if path in repository.files:
                return [repository.described(path)]
            if any(file.startswith(f"{path}/") for file in repository.files):
                return [{"type": "directory", "path": path, "size": 0, "oid": _git_hash(path.encode())}]
            return []

        def list_tree(self, repository: Repository, folder: str | None, query: dict) -> None:
            prefix = f"{folder}/" if folder else ""
            inside = [file.removeprefix(prefix) for file in repository.files if file.startswith(prefix)]
            if not inside:
                self.refuse(404, "EntryNotFound", f"{folder} does not exist")
                return
            if query.get("recursive", ["false"])[0].lower() == "true":
                folders = {str(parent) for file in inside for parent in Path(file).parents} - {"."}
                named = {*inside, *folders}
            else:
                named = {file.partition("/")[0] for file in inside}
            self.send_json([found for name in sorted(named) for found in self.entries(repository, prefix + name)])

        def resolve(self, dataset: str | None, name: str, revision: str, path: str) -> None:
            repository = self.repository("datasets" if dataset else "models", name, revision)
            if repository is None:
                return
            if repository.members is not None and self.token not in repository.members:
                self.refuse(403 if self.token else 401, "GatedRepo", f"Access to {name} is restricted")
            elif path not in repository.files:
                self.refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": repository.commit})
            elif path.endswith(LARGE):
                digest = sha256(repository.files[path]).hexdigest()
                headers = {
                    "X-Repo-Commit": repository.commit,
                    "X-Linked-Etag": f'"{digest}"',
                    "X-Linked-Size": str(len(repository.files[path])),
                    "Location": f"{hub.storage}/{dataset or ''}{name}/cdn/{digest}/{path}",
                }
                self.send(302, b"", headers)
            else:
                self.send_file(name, path)

        def send_file(self, name: str, path: str) -> None:
            repository = hub.repositories[name]
            content = repository.files[path]
            headers = {
                "X-Repo-Commit": repository.commit,
                "ETag": f'"{_git_hash(content)}"',
                "Accept-Ranges": "bytes",
                "Content-Type": "application/octet-stream",
            }
            if (name, path) in hub.faults.altered:
                middle = len(content) // 2
                content = content[:middle] + bytes([content[middle] ^ 0x01]) + content[middle + 1 :]
            start, status = 0, 200
            if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
                start, status = int(match[1]), 206
                stop = min(int(match[2]) + 1, len(content)) if match[2] else len(content)
                headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
                content = content[start:stop]
            sent = len(content)
            if self.command == "GET":
                with hub.lock:
                    hub.ranges.append((path, start))
                    if hub.faults.cuts.get((name, path), 0) > 0:
                        hub.faults.cuts[name, path] -= 1
                        sent //= 2
            self.send(status, content, headers, sent)

        def refuse(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
            told = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
            self.send(status, json.dumps({"error": message}).encode(), told | (headers or {}))

        def send_json(self, value: Any) -> None:
            self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

        def send(self, status: int, content: bytes, headers: dict[str, str], sent: int | None = None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content[:sent])
                self.close_connection = self.close_connection or (sent is not None and sent < len(content))

        def log_message(self, *_) -> None:
            pass

    return Handler
