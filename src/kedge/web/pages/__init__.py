"""The pages: hand-written files that browsers load as they are, with no build step.

`index.html`, one style sheet, and ES modules under `js/`: `main` (the shell and the way between
pages), `api` (requests and events), `dom` (elements), `parts/` (lists, charts, grid and map),
`views/` (one module per page). docs/adr/0007-pages-without-a-build.md says why.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

FILES = Path(__file__).parent
router = APIRouter(include_in_schema=False)


@router.get("/")
def index(_: Request) -> Response:
    """The one document; which page it shows is in the address after the #."""
    return FileResponse(FILES / "index.html", headers={"Cache-Control": "no-cache"})


class PageFiles(StaticFiles):
    """The files of the pages, of the kinds that browsers load."""

    KINDS = (".css", ".js", ".svg")

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file; the browser asks whether it has changed."""
        if not path.endswith(self.KINDS):
            return Response(status_code=404)
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def page_files() -> PageFiles:
    """The application that serves the files."""
    return PageFiles(directory=FILES)
