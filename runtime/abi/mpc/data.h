/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The interface of a data plugin, which reads samples that do not lie in arrays. `libmpc_images.so` reads pictures:
 * from folders of classes, lists of files, tar archives, and annotations with boxes.
 *
 * The runtime looks for the plugin where it looks for a library provider (mpc/library.h). Plugin and runtime share the
 * work: the plugin finds the samples, knows their classes, decodes, resizes, crops and augments; the runtime chooses
 * the samples of a batch, calls the plugin from several threads, and converts the bytes to what the network takes. All
 * random choices are functions of the seed, the epoch and the sample, so that batches do not depend on the number of
 * threads.
 *
 * open() looks at names and sizes only. What is inside a file is checked when the file is read.
 */
#ifndef MPC_DATA_H
#define MPC_DATA_H
#include "mpc/kernel.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_DATA_ABI 5

typedef struct mpc_data_source mpc_data_source;
typedef struct mpc_data_reader mpc_data_reader;

/* Says what is wrong, where, and what the user can do about it. Each text ends with a zero byte and is valid UTF-8 or
 * plain bytes of a file's name. */
typedef struct mpc_data_error {
  char where[1024]; /* the file, and the archive's member: "train.tar: cat/1.jpg" */
  char what[256];
  char hint[256];
} mpc_data_error;

/* The size in pixels as a viewer shows the picture: EXIF's orientation is applied. */
typedef struct mpc_picture_size {
  int32_t width, height;
} mpc_picture_size;

/* Decoded pixels: rows from top to bottom, in each row the pixels from left to right, in each pixel `channels` bytes
 * (1: grey; 3: red, green, blue). They are valid until the reader's next call. */
typedef struct mpc_picture {
  int32_t width, height, channels;
  int64_t row_bytes; /* from one row to the next */
  const uint8_t *pixels;
} mpc_picture;

/* Describes what an input takes of a picture: bytes [channels, height, width]. */
typedef struct mpc_picture_input {
  int32_t channels, height, width;
  const char *transform; /* steps, such as "resize:256,center-crop"; "" if there are none */
  const char *augment;   /* random steps, such as "random-crop:4,flip" */
  const uint8_t *erased; /* the values of erased pixels, one for each channel */
} mpc_picture_input;

/* Pictures that lie in memory: bytes [samples, channels, height, width]. The plugin does not copy them. */
typedef struct mpc_picture_array {
  const uint8_t *pixels;
  int32_t channels, height, width;
  const char *name; /* for messages */
} mpc_picture_array;

/* Says which random choices a sample gets. */
typedef struct mpc_draw {
  int32_t random; /* 0: none; the steps of `augment` are left out */
  uint64_t seed;
  int64_t epoch;
} mpc_draw;

typedef struct mpc_picture_maker mpc_picture_maker;

/* A box that a network found: x1, y1, x2, y2 in pixels of what make() writes, and how sure the network is. */
typedef struct mpc_found_box {
  float corners[4];
  float score;
  int64_t label;
} mpc_found_box;

/* Says what is drawn on the pictures of a maker. */
typedef struct mpc_box_drawing {
  const char *folder; /* it exists */
  int64_t samples;
  const int64_t *counts;      /* of the boxes of each sample */
  const mpc_found_box *boxes; /* those of all samples, one sample behind the other, the best of each first */
  const char *class_names;    /* the lines are the names of the classes; those without a line have numbers */
  /* It is called with `state` and the number of samples done, unless it is null. */
  void (*progress)(void *state, int64_t done);
  void *state;
} mpc_box_drawing;

typedef struct mpc_data_plugin {
  uint32_t abi;     /* MPC_DATA_ABI */
  const char *name; /* "pictures (libjpeg-turbo 2.1.5, libspng 0.7.3)" */

  /* Returns 1 if `path` is something that open() may read (a folder, a tar archive, a list), else 0. */
  int (*recognizes)(const char *path);
  /* Returns null and fills `error` on failure. The samples are in an order that depends on names alone. */
  mpc_data_source *(*open)(const char *path, mpc_data_error *error);
  void (*close)(mpc_data_source *);

  /* These describe a source. They are thread-safe. Strings live as long as the source. */
  int64_t (*samples)(const mpc_data_source *);
  int64_t (*classes)(const mpc_data_source *);                       /* 0: the samples have no classes */
  const char *(*class_name)(const mpc_data_source *, int64_t index); /* UTF-8 without control characters */
  int64_t (*label)(const mpc_data_source *, int64_t sample); /* the index of the sample's class; -1: it has none */
  /* Numbers the source's classes as those of a training, which are the lines of `known` in the order of their numbers:
   * numbers[i] is that of class i. Returns 0, or -1 and fills `error`, located at `path`, for a class that the training
   * did not have. */
  int (*number_classes)(const mpc_data_source *, const char *path, const char *known, int64_t *numbers,
                        mpc_data_error *error);
  /* Writes where the sample comes from, as in mpc_data_error. */
  void (*describe)(const mpc_data_source *, int64_t sample, char *where, size_t bytes);
  /* Writes what a user should know of the source: "3 files are left out, ...". An empty text: nothing. */
  void (*note)(const mpc_data_source *, char *text, size_t bytes);

  /* Returns 1 if the samples have boxes, each with a class, and no class of their own (label() is then -1), else 0. */
  int (*has_boxes)(const mpc_data_source *);
  /* Checks whether a network that takes `room` boxes of a sample takes all that there are, of a source with boxes. If
   * not, and the steps of `transform` say which ones are kept, it writes that as in note(). Otherwise it fails. Returns
   * 0, or -1 and fills `error`. */
  int (*check_boxes)(const mpc_data_source *, const char *transform, int64_t room, char *text, size_t bytes,
                     mpc_data_error *error);

  /* Checks steps, and writes them in their normal form, with all numbers. `option`: "--transform" or "--augment".
   * Returns 0, or -1 and fills `error`. */
  int (*check_steps)(const char *steps, const char *option, char *normal, size_t bytes, mpc_data_error *error);
  /* A maker makes of pictures what an input takes, for one thread. They are those of `source`, or of `array` where that
   * is not null. A maker must be closed before its source. Returns null and fills `error` on failure. */
  mpc_picture_maker *(*open_maker)(const mpc_data_source *source, const mpc_picture_array *array,
                                   const mpc_picture_input *input, mpc_data_error *error);
  void (*close_maker)(mpc_picture_maker *);
  /* Writes a sample. Returns 0, or -1 and fills `error`. */
  int (*make)(mpc_picture_maker *, int64_t sample, const mpc_draw *draw, uint8_t *planes, mpc_data_error *error);

  /* Writes the boxes of a sample, moved as make() moves its pixels for the same draw and clipped to them: corners
   * [room, 4] are x1, y1, x2, y2 in pixels of what make() writes, from the left upper corner of its left upper pixel,
   * and labels [room] are classes; either may be null. Rows behind the last box are 0 and -1. Boxes that the steps
   * leave no part of are left out. Returns the number of boxes, or -1 and fills `error`. It is for makers of a source
   * with boxes. */
  int64_t (*make_boxes)(mpc_picture_maker *, int64_t sample, const mpc_draw *draw, int64_t room, float *corners,
                        int64_t *labels, mpc_data_error *error);

  /* Draws boxes on the first samples as make() writes them without a random choice, and writes a PNG file of each into
   * the folder. A file has the name of its picture, of which only the end differs, or the sample's number in an array.
   * Boxes are clipped to the picture; those with a corner that is NaN are left out. Returns 0, or -1 and fills `error`;
   * then files that were finished before are there. */
  int (*draw_boxes)(mpc_picture_maker *, const mpc_box_drawing *drawing, mpc_data_error *error);

  /* These read pictures as they are, for tools and tests. A reader has the buffers of one thread. It must be closed
   * before its source. Null where memory is short. */
  mpc_data_reader *(*open_reader)(const mpc_data_source *);
  void (*close_reader)(mpc_data_reader *);
  /* Opens a sample's picture and reads its size. Returns 0, or -1 and fills `error`. */
  int (*look)(mpc_data_reader *, int64_t sample, mpc_picture_size *size, mpc_data_error *error);
  /* Decodes the picture that look() opened last. `channels`: 1 or 3; other pictures are converted. The result may be
   * smaller than the picture, where decoding at a reduced scale is cheaper, but has at least so many pixels in each
   * direction unless the picture itself has fewer. Returns 0, or -1 and fills `error`. */
  int (*decode)(mpc_data_reader *, int32_t channels, int32_t least_width, int32_t least_height, mpc_picture *picture,
                mpc_data_error *error);

  /* Makes a PNG file of a picture of 1 or 3 channels, in memory that the caller frees by free(). Thread-safe. Returns
   * 0, or -1 and fills `error`. */
  int (*encode_png)(const mpc_picture *picture, uint8_t **png, size_t *bytes, mpc_data_error *error);
} mpc_data_plugin;

/* The function that a plugin exports. */
typedef const mpc_data_plugin *(*mpc_data_entry_fn)(void);
#define MPC_DATA_ENTRY "mpc_data_entry"

#ifdef __cplusplus
}
#endif
#endif
