"""Settings: one database for Django's tables and Mainspring's, so that one transaction has both."""

import os
from urllib.parse import urlsplit

#: The same database, as Mainspring names it.
MAINSPRING_STORE = os.environ.get("DATABASE_URL", "sqlite:///shop.db")


def _database(url: str) -> dict[str, object]:
    if url.startswith("sqlite:///"):
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url.removeprefix("sqlite:///")}
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": parts.username or "",
        "PASSWORD": parts.password or "",
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
    }


DATABASES = {"default": _database(MAINSPRING_STORE)}
INSTALLED_APPS = ["orders"]
SECRET_KEY = "an example keeps no secrets"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
