"""Reads a .cubex file and prints its values, one line each: metric, call path, location, value; tabs between.

It was written from the description of the layout, and shares nothing with package cube.
"""
import gzip, struct, sys, tarfile, zlib
import xml.etree.ElementTree as ET

tar = tarfile.open(sys.argv[1])
names = {m.name.removeprefix("./"): m for m in tar.getmembers()}
text = tar.extractfile(names["anchor.xml"]).read()
if text[:2] == b"\x1f\x8b":
    text = gzip.decompress(text)
root = ET.fromstring(text)
regions = {r.get("id"): r.findtext("name") for r in root.find("program").findall("region")}
deep, wide, paths = [], [], {}


def walk(node, above):
    path = above + [regions[node.get("calleeId")]]
    deep.append(node.get("id"))
    paths[node.get("id")] = "/".join(path)
    for child in node.findall("cnode"):
        walk(child, path)


def spread(node):
    wide.extend(c.get("id") for c in node.findall("cnode"))
    for child in node.findall("cnode"):
        spread(child)


for top in root.find("program").findall("cnode"):
    walk(top, [])
    wide.append(top.get("id"))
    spread(top)
locations = sorted(root.iter("location"), key=lambda l: int(l.get("Id")))
formats = {"DOUBLE": "d", "FLOAT": "d", "UINT64": "Q", "INT64": "q", "INTEGER": "q",
           "UINT32": "I", "INT16": "h", "UINT8": "B"}
for metric in root.find("metrics").iter("metric"):
    index = metric.get("id") + ".index"
    if index not in names:
        continue
    index = tar.extractfile(names[index]).read()
    assert index[:11] == b"CUBEX.INDEX", index[:11]
    order = "<" if index[11:15] == b"\1\0\0\0" else ">"
    one, version, kind = struct.unpack(order + "IHB", index[11:18])
    assert (one, version) == (1, 0) and kind in (1, 3), (one, version, kind)
    rows = range(len(deep))
    if kind == 1:
        rows = struct.unpack("%s%dI" % (order, len(index[22:]) // 4), index[22:])
        assert struct.unpack(order + "I", index[18:22])[0] == len(rows)
    n = len(rows)
    data = tar.extractfile(names[metric.get("id") + ".data"]).read()
    if data[:11] == b"ZCUBEX.DATA":
        (parts,) = struct.unpack(order + "Q", data[11:19])
        at, plain = 19 + 24 * parts, b""
        for i in range(parts):
            size = struct.unpack(order + "3Q", data[19 + 24 * i : 43 + 24 * i])[2]
            row = len(locations) * struct.calcsize(order + formats[metric.findtext("dtype")])
            plain += zlib.decompress(data[at : at + size]) if size else bytes(row)
            at += size
        data = plain
    else:
        assert data[:10] == b"CUBEX.DATA", data[:10]
        data = data[10:]
    values = struct.unpack("%s%d%s" % (order, n * len(locations), formats[metric.findtext("dtype")]), data)
    counted = wide if metric.get("type") == "INCLUSIVE" else deep
    for i, row in enumerate(rows):
        for j in range(len(locations)):
            value = values[i * len(locations) + j]
            if value:
                print(metric.findtext("uniq_name"), paths[counted[row]], j, repr(value), sep="\t")
