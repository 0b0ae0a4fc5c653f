"""Records of JSON, each on a line: read, searched, counted, and written anew."""
import hashlib
import json
import re
import sys

word = re.compile(r"\b([bdfg]\w+)(?: (\w{4,}))?")
counts, by_tag, records = {}, {}, []
with open(sys.argv[1]) as lines:
    for line in lines:
        record = json.loads(line)
        records.append(record)
        for tag in record["tags"]:
            by_tag.setdefault(tag, []).append(record["id"])
        for first, second in word.findall(record["text"]):
            counts[first, second] = counts.get((first, second), 0) + 1
most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:100]
digest = hashlib.sha256()
for record in records:
    record["longest"] = max(record["text"].split(), key=len)
    record["text"] = word.sub(lambda found: found.group(0).upper(), record["text"])
    digest.update(json.dumps(record, sort_keys=True).encode())
print(digest.hexdigest(), len(counts), len(by_tag), most)
