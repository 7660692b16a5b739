"""What a worker loads: Django first, then the jobs.

Run one with ``mainspring worker start shop_worker:app --store sqlite:///shop.db``.
"""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shopsite.settings")
django.setup()

from orders.jobs import app  # noqa: E402 - models exist only after setup

__all__ = ["app"]
