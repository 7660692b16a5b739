"""What travels between a server and those who are not in its process.

``documents`` are the JSON bodies of REST: structs that say what is taken and what is answered, with
the way from the domain's structs and back. The same shapes are printed by ``-o json``.
``protobuf`` are the messages of gRPC (``proto/``), likewise.

Invariants
----------
* A name on the wire is never used for something else, and never disappears within a version.
* Ids are in their shown form, instants in RFC 3339 and UTC, durations whole milliseconds with the
  unit in the name; payloads and results are the JSON that was given, digit for digit.
* What a server answers can be read back into the struct that it was made from.
"""
