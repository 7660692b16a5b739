"""``manage.py demo``: two orders, and one whose transaction fails."""

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import transaction

from orders.jobs import app, pack, place_order
from orders.models import Order, Parcel


class Command(BaseCommand):
    help = "Places orders, waits until they are packed, and shows them."

    def handle(self, *args: object, **options: object) -> None:
        with app.embedded_sync(
            settings.MAINSPRING_STORE, reference="shop_worker:app", migrate=True
        ) as client:
            known = {order.pk for order in (place_order("Ada"), place_order("Grace"))}
            try:
                with transaction.atomic():
                    place_order("Nobody")
                    raise ValueError("the view failed")
            except ValueError as error:
                self.stdout.write(f"rolled back, order and job: {error}")
            for job in client.jobs.list(kinds=["pack"]):
                client.handle(job.job_id, pack).result(timeout="30s")
        for order in Order.objects.filter(pk__in=known).order_by("pk"):
            label = Parcel.objects.get(order=order).label
            self.stdout.write(f"{label}: {order.state}")
        self.stdout.write(f"orders of Nobody: {Order.objects.filter(customer='Nobody').count()}")
