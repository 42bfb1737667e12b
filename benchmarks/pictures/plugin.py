# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls the picture plugin (runtime/abi/mpc/data.h) from Python."""
import ctypes
from ctypes import POINTER, c_char, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

ABI = 5  # MPC_DATA_ABI, whose table `Table` describes
ALL = 2**31 - 1  # as the least width and height: the whole picture


class Error(ctypes.Structure):
    _fields_ = [("where", c_char * 1024), ("what", c_char * 256), ("hint", c_char * 256)]


class Size(ctypes.Structure):
    _fields_ = [("width", c_int32), ("height", c_int32)]


class Picture(ctypes.Structure):
    _fields_ = [("width", c_int32), ("height", c_int32), ("channels", c_int32), ("row_bytes", c_int64), ("pixels", c_void_p)]


class Input(ctypes.Structure):
    _fields_ = [("channels", c_int32), ("height", c_int32), ("width", c_int32), ("transform", c_char_p), ("augment", c_char_p), ("erased", c_char_p)]


class Array(ctypes.Structure):
    _fields_ = [("pixels", c_void_p), ("channels", c_int32), ("height", c_int32), ("width", c_int32), ("name", c_char_p)]


class Draw(ctypes.Structure):
    _fields_ = [("random", c_int32), ("seed", c_uint64), ("epoch", c_int64)]


class Table(ctypes.Structure):
    _fields_ = [("abi", c_uint32), ("name", c_char_p),
                ("recognizes", ctypes.CFUNCTYPE(c_int, c_char_p)),
                ("open", ctypes.CFUNCTYPE(c_void_p, c_char_p, POINTER(Error))),
                ("close", ctypes.CFUNCTYPE(None, c_void_p)),
                ("samples", ctypes.CFUNCTYPE(c_int64, c_void_p)),
                ("classes", ctypes.CFUNCTYPE(c_int64, c_void_p)),
                ("class_name", ctypes.CFUNCTYPE(c_char_p, c_void_p, c_int64)),
                ("label", ctypes.CFUNCTYPE(c_int64, c_void_p, c_int64)),
                ("number_classes", ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p, POINTER(c_int64), POINTER(Error))),
                ("describe", ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_char_p, c_size_t)),
                ("note", ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_size_t)),
                ("has_boxes", ctypes.CFUNCTYPE(c_int, c_void_p)),
                ("check_boxes", ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_int64, c_char_p, c_size_t, POINTER(Error))),
                ("check_steps", ctypes.CFUNCTYPE(c_int, c_char_p, c_char_p, c_char_p, c_size_t, POINTER(Error))),
                ("open_maker", ctypes.CFUNCTYPE(c_void_p, c_void_p, POINTER(Array), POINTER(Input), POINTER(Error))),
                ("close_maker", ctypes.CFUNCTYPE(None, c_void_p)),
                ("make", ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(Draw), c_void_p, POINTER(Error))),
                ("make_boxes", ctypes.CFUNCTYPE(c_int64, c_void_p, c_int64, POINTER(Draw), c_int64, POINTER(c_float), POINTER(c_int64), POINTER(Error))),
                ("draw_boxes", ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(Error))),
                ("open_reader", ctypes.CFUNCTYPE(c_void_p, c_void_p)),
                ("close_reader", ctypes.CFUNCTYPE(None, c_void_p)),
                ("look", ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(Size), POINTER(Error))),
                ("decode", ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, c_int32, c_int32, POINTER(Picture), POINTER(Error))),
                ("encode_png", ctypes.CFUNCTYPE(c_int, POINTER(Picture), POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)))]


def load(path):
    """Returns the table of the plugin's functions. Raises RuntimeError where the plugin has another table than this module."""
    entry = ctypes.CDLL(path).mpc_data_entry
    entry.restype = POINTER(Table)
    table = entry().contents
    if table.abi != ABI:
        raise RuntimeError(f"{path} has MPC_DATA_ABI {table.abi}, and this module knows the table of {ABI}: change Table as mpc/data.h has it")
    return table


class Failure(Exception):
    pass


class Source:
    """Pictures behind a path, with one reader."""

    def __init__(self, table, path):
        self.table, self.error, self.size, self.picture = table, Error(), Size(), Picture()
        self.handle = table.open(path.encode(), self.error)
        if not self.handle:
            raise Failure(self.text())
        self.reader = table.open_reader(self.handle)

    def text(self):
        return ": ".join(os_text.decode(errors="replace") for os_text in (self.error.where, self.error.what, self.error.hint))

    def __len__(self):
        return self.table.samples(self.handle)

    def classes(self):
        return [self.table.class_name(self.handle, i).decode() for i in range(self.table.classes(self.handle))]

    def label(self, i):
        return self.table.label(self.handle, i)

    def where(self, i):
        text = ctypes.create_string_buffer(1024)
        self.table.describe(self.handle, i, text, 1024)
        return text.value.decode()

    def decode(self, i, channels=3, width=ALL, height=ALL):
        """Decodes a picture in the reader's memory."""
        if self.table.look(self.reader, i, self.size, self.error) or self.table.decode(self.reader, channels, width, height, self.picture, self.error):
            raise Failure(self.text())

    def pixels(self, i, channels=3, width=ALL, height=ALL):
        """Returns a copy of the pixels, [height, width, channels]."""
        self.decode(i, channels, width, height)
        p = self.picture
        flat = np.ctypeslib.as_array(ctypes.cast(p.pixels, POINTER(ctypes.c_uint8)), (p.height, p.row_bytes))
        return flat[:, : p.width * channels].reshape(p.height, p.width, channels).copy()

    def close(self):
        self.table.close_reader(self.reader)
        self.table.close(self.handle)


class Maker:
    """Makes u8 [channels, height, width] of the pictures of a Source, or of an array of u8 [samples, channels, height, width]."""

    def __init__(self, table, pictures, size, channels=3, transform="", augment="", erased=b"\0\0\0"):
        self.table, self.error, self.pictures = table, Error(), pictures
        given = Input(channels, *size, transform.encode(), augment.encode(), erased)
        if isinstance(pictures, Source):
            self.handle = table.open_maker(pictures.handle, None, given, self.error)
        else:
            array = Array(pictures.ctypes.data, *pictures.shape[1:], b"pictures")
            self.handle = table.open_maker(None, array, given, self.error)
        if not self.handle:
            raise Failure(self.error.what.decode())
        self.out = np.empty((channels, *size), np.uint8)

    def make(self, i, seed=0, epoch=0, random=True):
        """Returns the sample, in memory that the next call overwrites."""
        if self.table.make(self.handle, i, Draw(random, seed, epoch), self.out.ctypes.data, self.error):
            raise Failure(": ".join(text.decode(errors="replace") for text in (self.error.where, self.error.what, self.error.hint)))
        return self.out

    def close(self):
        self.table.close_maker(self.handle)
