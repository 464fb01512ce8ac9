"""Makes a wheel's bill of materials the same on every machine, and looks for paths of this one.

    python clean.py SECONDS FILE PATH=NAME...

SECONDS is the time of the commit. In a wheel, each PATH in the bill of materials becomes NAME, and the
serial number and the time no longer change from build to build. No file of a wheel or archive may
contain a PATH.
"""

import base64
import datetime
import hashlib
import json
import os
import sys
import tarfile
import uuid
import zipfile

RECORD = ".dist-info/RECORD"
BILL = ".cyclonedx.json"


def main():
    seconds, path, *replacements = sys.argv[1:]
    pairs = [tuple(pair.rsplit("=", 1)) for pair in replacements]
    if path.endswith(".whl"):
        rewrite(path, int(seconds), pairs)
    found = [
        f"{path}: {name} contains the path {place}"
        for name, content in members(path)
        for place, _ in pairs
        if place.encode() in content
    ]
    sys.exit("\n".join(found) or None)


def members(path):
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as wheel:
            yield from ((info.filename, wheel.read(info)) for info in wheel.infolist())
    else:
        with tarfile.open(path) as archive:
            files = (member for member in archive if member.isfile())
            yield from ((member.name, archive.extractfile(member).read()) for member in files)


def rewrite(path, seconds, pairs):
    with zipfile.ZipFile(path) as wheel:
        content = [(info, wheel.read(info)) for info in wheel.infolist()]
    bills = {
        info.filename: bill(data, seconds, pairs)
        for info, data in content
        if info.filename.endswith(BILL)
    }
    with zipfile.ZipFile(path + ".new", "w") as wheel:
        for info, data in content:
            new = bills.get(info.filename, data)
            if info.filename.endswith(RECORD):
                new = record(data.decode(), bills)
            wheel.writestr(info, new, zipfile.ZIP_DEFLATED, 9)
    os.replace(path + ".new", path)


def bill(data, seconds, pairs):
    text = data.decode()
    for place, name in pairs:
        text = text.replace(place, "/" + name)
    document = json.loads(text)
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    document["metadata"]["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    document.pop("serialNumber", None)
    named = json.dumps(document, sort_keys=True)
    document["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_OID, named).urn
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def record(text, bills):
    lines = []
    for line in text.splitlines():
        name = line.rsplit(",", 2)[0]
        if name in bills:
            digest = base64.urlsafe_b64encode(hashlib.sha256(bills[name]).digest())
            line = f"{name},sha256={digest.rstrip(b'=').decode()},{len(bills[name])}"
        lines.append(line + "\n")
    return "".join(lines).encode()


main()
