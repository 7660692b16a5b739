"""An app that cannot be imported."""

print(1 // 0)
