"""What the shop keeps."""

from typing import Any

from django.db import models


class Order(models.Model):
    customer: Any = models.CharField(max_length=100)
    state: Any = models.CharField(max_length=20, default="open")


class Parcel(models.Model):
    order: Any = models.OneToOneField(Order, on_delete=models.CASCADE)
    label: Any = models.CharField(max_length=100)
