"""Verifies a receipt with libraries that know nothing of Mayfly: the file of one, then a public key in PEM."""

import base64
import json
import sys

from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

path, pem = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    data = json.load(file)
der = base64.b64decode("".join(line for line in pem.splitlines() if "-----" not in line))
keyid = data["signatures"][0]["keyid"]
key = SSlibKey(keyid, "ed25519", "ed25519", {"public": der[-32:].hex()})  # RFC 8410: they are the key
envelope = Envelope.from_dict(data)
envelope.verify([key], 1)
assert envelope.payload_type == "application/vnd.in-toto+json"
statement = Statement.copy_from_pb(json_format.Parse(envelope.payload, statement_pb2.Statement()))
statement.validate()
assert statement.pb.predicate_type == "https://slsa.dev/provenance/v1"
print(f"verified {len(statement.pb.subject)} subjects")
