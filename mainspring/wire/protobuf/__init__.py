"""gRPC: modules that ``tools/protobuf.py`` makes from ``proto/`` (``*_pb2``), and our codecs.

They need the extra ``grpc``, so they are imported late.
"""
