from __future__ import annotations

from tests.web.conftest import lab, served

__all__ = ["lab", "served"]
