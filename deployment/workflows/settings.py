"""Prints the body of the request that starts a pass, from the environment of scheduler.sh."""

import json
import os

KEYS = ("name", "bucket", "folder", "region", "templates", "tag", "temp", "worker")

settings: dict[str, object] = {key: os.environ[key.upper()] for key in KEYS}
settings["max_workers"] = int(os.environ.get("MAX_WORKERS") or 10)
if os.environ.get("HALF_WIDTH"):
    settings["half_width"] = float(os.environ["HALF_WIDTH"])
print(json.dumps({"argument": json.dumps(settings)}))
