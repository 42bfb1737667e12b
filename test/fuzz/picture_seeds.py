# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeds of the fuzz targets of the picture plugin (make_seeds.py). The checksums of PNG and tar are right, since these targets mend them after a mutation."""
import io
import struct
import tarfile
import zlib


def segment(marker, data):
    return struct.pack(">BBH", 0xff, marker, len(data) + 2) + data


class Bits:
    """The bits of a scan; a zero byte follows each byte 255."""

    def __init__(self):
        self.text = ""

    def put(self, value, length):
        self.text += f"{value:0{length}b}" if length else ""

    def bytes(self):
        text = self.text + "1" * (-len(self.text) % 8)
        return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8)).replace(b"\xff", b"\xff\0")


# Codes of 4 bits for the categories 0 to 8 of differences, and of 2 bits for: end of block, a coefficient of one bit, and (unused) 16 zeros.
TABLES = segment(0xc4, b"\x00" + bytes([0, 0, 0, 9] + [0] * 12) + bytes(range(9))) + segment(0xc4, b"\x10" + bytes([0, 3] + [0] * 14) + b"\x00\x01\xf0")


def jpeg(width=16, height=16, sampling=((1, 1),), progressive=False, restart=0, before=b""):
    """Makes a JPEG whose blocks are nearly flat. sampling: (horizontal, vertical) of each channel."""
    frame = struct.pack(">BHHB", 8, height, width, len(sampling)) + b"".join(bytes([i + 1, h * 16 + v, 0]) for i, (h, v) in enumerate(sampling))
    out = b"\xff\xd8" + before + segment(0xdb, b"\0" + b"\x10" * 64) + segment(0xc2 if progressive else 0xc0, frame) + TABLES
    if restart:
        out += segment(0xdd, struct.pack(">H", restart))
    scan = bytes([len(sampling)]) + b"".join(bytes([i + 1, 0]) for i in range(len(sampling)))
    out += segment(0xda, scan + (b"\0\0\0" if progressive else b"\0\x3f\0"))
    most_h, most_v = max(h for h, _ in sampling), max(v for _, v in sampling)
    units = -(-width // (8 * most_h)) * -(-height // (8 * most_v))
    bits, last = Bits(), [0] * len(sampling)
    for unit in range(units):
        if restart and unit and unit % restart == 0:
            out += bits.bytes() + bytes([0xff, 0xd0 + (unit // restart - 1) % 8])
            bits, last = Bits(), [0] * len(sampling)
        for channel, (h, v) in enumerate(sampling):
            for block in range(h * v):
                value = (unit * 7 + block * 3 + channel * 5) % 64 - 32
                change, last[channel] = value - last[channel], value
                length = abs(change).bit_length()
                bits.put(length, 4)
                bits.put(change if change > 0 else change + (1 << length) - 1, length)
                if not progressive:
                    bits.put(0b011, 3) if unit % 2 else None  # a coefficient of 1
                    bits.put(0b00, 2)
    out += bits.bytes()
    if progressive:  # the other coefficients, none of which there are
        for channel, (h, v) in enumerate(sampling):
            blocks = -(-(-(-width * h // most_h)) // 8) * -(-(-(-height * v // most_v)) // 8)
            bits = Bits()
            for _ in range(blocks):
                bits.put(0b00, 2)
            out += segment(0xda, bytes([1, channel + 1, 0, 1, 63, 0])) + bits.bytes()
    return out + b"\xff\xd9"


def exif(orientation, order="<"):
    return (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)


COLOUR = ((1, 1),) * 3


def jpeg_seeds():
    yield "grey", jpeg()
    yield "colour", jpeg(sampling=COLOUR)
    yield "subsampled", jpeg(33, 21, ((2, 2), (1, 1), (1, 1)))
    yield "subsampled-across", jpeg(33, 21, ((2, 1), (1, 1), (1, 1)))
    yield "progressive", jpeg(sampling=((2, 2), (1, 1), (1, 1)), progressive=True)
    yield "restarts", jpeg(64, 32, COLOUR, restart=3)
    yield "inks", jpeg(sampling=((1, 1),) * 4, before=segment(0xee, b"Adobe\0\x64\0\0\0\0\x02"))
    yield "rgb", jpeg(sampling=COLOUR, before=segment(0xee, b"Adobe\0\x64\0\0\0\0\0"))
    yield "sideways", jpeg(24, 8, before=segment(0xe1, b"Exif\0\0" + exif(6)))
    yield "mirrored", jpeg(24, 8, before=segment(0xe1, b"Exif\0\0" + exif(7, ">")))
    yield "jfif", jpeg(before=segment(0xe0, b"JFIF\0\1\2\0\0\1\0\1\0\0") + segment(0xfe, b"comment"))
    yield "cut", jpeg(sampling=COLOUR)[:-20]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(kind, depth, width=9, height=5, before=b"", interlace=0, after=b""):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    sizes = [(width, height)]
    if interlace:
        passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
        sizes = [(-(-(width - x) // right), -(-(height - y) // down)) for x, y, right, down in passes if x < width and y < height]
    rows = b"".join(bytes([y % 5]) + bytes((i * 37 + y * 11) % 256 for i in range((w * channels * depth + 7) // 8)) for w, h in sizes for y in range(h))
    palette = chunk(b"PLTE", bytes(range(3 << depth))) if kind == 3 and depth < 8 else chunk(b"PLTE", bytes(768)) if kind == 3 else b""
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + palette + before + chunk(b"IDAT", zlib.compress(rows)) + after + chunk(b"IEND", b"")


def png_seeds():
    for kind, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
        for depth in depths:
            yield f"type{kind}-{depth}", png(kind, depth)
        yield f"type{kind}-interlaced", png(kind, 8, interlace=1)
    yield "sideways", png(2, 8, before=chunk(b"eXIf", exif(8)))
    yield "sideways-behind", png(2, 8, after=chunk(b"eXIf", exif(5, ">")))
    yield "transparent", png(3, 8, before=chunk(b"tRNS", b"\0\x80"))
    yield "profile", png(2, 8, before=chunk(b"iCCP", b"name\0\0" + zlib.compress(b"profile")) + chunk(b"gAMA", b"\0\0\xb1\x8f"))
    yield "texts", png(0, 8, before=chunk(b"tEXt", b"key\0text") + chunk(b"zTXt", b"key\0\0" + zlib.compress(b"text")) + chunk(b"iTXt", b"key\0\0\0\0\0text"))
    yield "cut", png(2, 8)[:-30]


def tar(members, form=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if isinstance(data, str):
                info.type, info.linkname = tarfile.SYMTYPE, data
                archive.addfile(info)
            else:
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    data = out.getvalue().rstrip(b"\0")
    return data + bytes(-len(data) % 512 + 1024)  # Python fills up to 10240


def tar_seeds():
    picture = png(0, 1, 1, 1)
    yield "folders", tar([("a/1.png", picture), ("b/1.png", picture)])
    yield "one-folder", tar([("./a/1.png", picture), ("./a/._1.png", b"x"), ("a/notes.txt", b"x")])
    yield "numbers", tar([("1.png", picture), ("1.cls", b"3"), ("2.png", picture), ("2.cls", b"0\n")])
    yield "names", tar([("1.cls", b"dog"), ("1.jpg", picture), ("1.seg.png", picture)])
    yield "no-class", tar([("1.png", picture), ("1.cls", b"3"), ("2.png", picture)])
    yield "prefix", tar([("p" * 99 + "/" + "n" * 80 + ".png", picture)])
    long = "a" * 150 + "/" + "n" * 120 + ".png"
    yield "gnu-long", tar([(long, picture)], tarfile.GNU_FORMAT)
    yield "pax-long", tar([(long, picture), ("b/\u00e4.png", picture)], tarfile.PAX_FORMAT)
    yield "above", tar([("../1.png", picture)])
    yield "link", tar([("a/1.png", "/etc/passwd")])
    yield "empty", tar([])
    yield "cut", tar([("a/1.png", picture)])[:600]


def list_seeds():
    yield "plain", b"a.jpg,cat\nb/c.png,dog\n"
    yield "heading", b"\xef\xbb\xbflabel,path,id\r\n3,a.jpg,x\r\n0,b.jpg,y\r\n"
    yield "quotes", b'"a,b.jpg","the ""cat"""\n"c\nd.jpg" , dog \n'
    yield "paths", b"a.jpg\n\nb.jpg"
    yield "numbers", b"a.jpg,10\nb.jpg,-1\n"
    yield "uneven", b"a.jpg,cat\nb.jpg\n"
    yield "open-quote", b'a.jpg,"cat\n'
    yield "other-heading", b"filename,class\na.jpg,cat\n"
    yield "empty", b""


def boxes_seeds():
    yield "coco", (b'c{"images": [{"id": 1, "file_name": "/dev/null", "width": 640, "height": 480}], "annotations": [{"image_id": 1, "category_id": 3, "bbox": [1, 2, 3.5, 4], '
                   b'"iscrowd": 0, "segmentation": [[1, 2]]}], "categories": [{"id": 3, "name": "cat"}, {"id": 1, "name": "dog"}]}')
    yield "yolo", b"y0 0.5 0.5 0.25 1\r\n\n79\t1e-1 0.2 0.1 0.1 \n"
    yield "voc", (b'v<?xml version="1.0"?><annotation a="b"><!-- c --><size><width>640</width><height>480</height></size><object><name>a&amp;b</name><bndbox><xmin>1</xmin>'
                  b"<ymin>2</ymin><xmax>3</xmax><ymax>4.5</ymax></bndbox></object></annotation>")
    yield "yaml-map", b"npath: . # x\nnames:\n  0: cat\n  1: 'big dog'\nnc: 2\n"
    yield "yaml-list", b"nnames: [cat, \"big dog\",\n 'cow'] # x\n"
    yield "yaml-items", b"nnames:\n- cat\n- dog\n"
    yield "empty", b""


PICTURES = {"jpeg": jpeg_seeds, "png": png_seeds, "tar": tar_seeds, "list": list_seeds, "boxes": boxes_seeds}
