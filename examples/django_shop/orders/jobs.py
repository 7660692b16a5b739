"""The shop's jobs."""

from django.db import transaction

from mainspring import App, Context
from orders.models import Order, Parcel

app = App("shop")


@app.job(queue="parcels", timeout="30s")
def pack(ctx: Context, order_id: int) -> str:
    """Pack an order. The parcel and the end of this job are one transaction."""
    with ctx.transaction("default") as tx:  # an atomic block that also ends the job
        order = Order.objects.select_for_update().get(pk=order_id)
        parcel = Parcel.objects.create(order=order, label=f"{order.customer} #{order.pk}")
        order.state = "packed"
        order.save()
        tx.result = parcel.label
    return parcel.label


def place_order(customer: str) -> Order:
    """Keep an order and submit its packing: both, or neither."""
    with transaction.atomic():
        order = Order.objects.create(customer=customer)
        pack.using("default").submit(order_id=order.pk)
    return order
