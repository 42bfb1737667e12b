// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boxes: the three formats of annotations, and files that are wrong.
#include "Boxes.h"
#include "Files.h"

#include <cstdio>
#include <gtest/gtest.h>

namespace mpc::images::test {
namespace {
using namespace std::string_literals;

constexpr int kWidth = 40, kHeight = 20;

std::string picture() { return Png{.width = kWidth, .height = kHeight}(); }

/// Returns "CLASSES; BOXES; BOXES", the boxes of each sample as make_boxes writes them without steps, or the error.
std::string described(const std::string &path) {
  Opened source(path);
  if (!source)
    return source.error.where + ": "s + source.error.what + (*source.error.hint ? "" : " (no hint)");
  if (!plugin().has_boxes(source.source()))
    return "no boxes";
  std::string all;
  for (int64_t i = 0; i < source.classes(); ++i)
    all += (i == 0 ? "" : ",") + source.className(i);
  for (int64_t i = 0; i < source.samples(); ++i)
    all += "; " + make(source, i).text();
  return all;
}

std::string noteOf(const std::string &path) {
  Opened source(path);
  char text[1024] = "";
  if (source)
    plugin().note(source.source(), text, sizeof text);
  return text;
}

/// Replaces the first `from` in `text`.
std::string with(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

//===-- COCO --------------------------------------------------------------------===//

const std::string kCoco = R"({"info": {}, "images": [
  {"id": 7, "file_name": "a.png", "width": 40, "height": 20}, {"id": 3, "file_name": "b.png"}],
 "annotations": [
  {"id": 1, "image_id": 3, "category_id": 9, "bbox": [1, 2, 3, 4], "iscrowd": 0, "segmentation": [[1, 2, 3]]},
  {"id": 2, "image_id": 7, "category_id": 2, "bbox": [0.5, 0, 39.5, 20.5]},
  {"id": 3, "image_id": 7, "category_id": 9, "bbox": [-2, 5, 4, 5], "area": 20},
  {"id": 4, "image_id": 7, "category_id": 9, "bbox": [0, 0, 9, 9], "iscrowd": 1},
  {"id": 5, "image_id": 7, "category_id": 9, "bbox": [5, 5, 0, 9]}],
 "categories": [{"id": 9, "name": "cat"}, {"id": 2, "name": "dog"}, {"id": 11, "name": "cow"}]})";

TEST(Boxes, ComeFromCoco) {
  Folder folder;
  folder.write("a.png", picture());
  folder.write("b.png", picture());
  const std::string path = folder.write("instances.json", kCoco);
  EXPECT_EQ(described(path), "dog,cat,cow; 0.5,0,40,20=0 0,5,2,10=1 ; 1,2,4,6=1 ");
  EXPECT_EQ(noteOf(path), "1 box of a crowd (iscrowd) is left out; 1 box without an area is left out");
  // Outlines are skipped, in whatever form; a text that looks like their key is none.
  for (const char *outline :
       {"[]", "{\"size\": [3, 4], \"counts\": \"a]}\\\"[\\\\\"}", "[[1, [2, {}]], []]", "null", "7"}) {
    folder.write("instances.json", with(kCoco, "[[1, 2, 3]]", outline));
    EXPECT_EQ(described(path), "dog,cat,cow; 0.5,0,40,20=0 0,5,2,10=1 ; 1,2,4,6=1 ") << outline;
  }
  folder.write("instances.json", with(kCoco, "\"dog\"", "\"segmentation\""));
  EXPECT_TRUE(described(path).starts_with("segmentation,cat,cow; ")) << described(path);
  folder.write("instances.json", kCoco);
  // The pictures may lie elsewhere.
  Folder other;
  const std::string apart = other.write("annotations/instances.json", kCoco);
  EXPECT_EQ(described(apart + ":" + folder.path()), described(path));
  EXPECT_EQ(described(apart), other / "annotations/a.png: is missing; " + apart + " names it");
  // A picture that lacks something is found when it is read.
  folder.write("a.png", Png{.width = 20, .height = 40}());
  EXPECT_EQ(described(path),
            "dog,cat,cow; " + folder / "a.png" + ": has 20x40 pixels, and its boxes are for 40x20" + "; 1,2,4,6=1 ");
}

TEST(Boxes, OfCocoMayBeWrong) {
  Folder folder;
  folder.write("a.png", picture());
  folder.write("b.png", picture());
  const std::string path = folder / "c.json";
  auto what = [&](const std::string &json) {
    folder.write("c.json", json);
    const std::string said = described(path);
    return said.starts_with(path) ? said.substr(path.size()) : said;
  };
  EXPECT_EQ(what(""),
            ": is no JSON, or was cut off:  parse error at line 1, column 1: syntax error while parsing value - "
            "unexpected end of input; expected '[', '{', or a literal");
  for (size_t bytes = 1; bytes < kCoco.size(); bytes += 7)
    EXPECT_TRUE(what(kCoco.substr(0, bytes)).starts_with(": is no JSON, or was cut off: ")) << bytes;
  EXPECT_TRUE(what(with(kCoco, "0.5", "NaN")).starts_with(": is no JSON"));
  EXPECT_TRUE(what(with(kCoco, "0.5", "1e999")).starts_with(": is no JSON"));
  EXPECT_EQ(what("[]"), ": has no list 'categories'");
  EXPECT_EQ(what("{}"), ": has no list 'categories'");
  EXPECT_EQ(what(R"({"images": [], "annotations": [], "categories": []})"), ": names no picture");
  EXPECT_EQ(what(with(kCoco, "annotations", "annotation")), ": has no list 'annotations'");
  EXPECT_EQ(what(with(kCoco, "\"id\": 7", "\"id\": 3")), ": images[1]: has the id 3 of an earlier picture");
  EXPECT_EQ(what(with(kCoco, "\"id\": 7", "\"id\": 7.5")), ": images[0]: has no id that is a whole number");
  EXPECT_EQ(what(with(kCoco, "\"id\": 7", "\"id\": 18446744073709551615")),
            ": images[0]: has no id that is a whole number");
  EXPECT_EQ(what(with(kCoco, "\"a.png\"", "\"\"")), ": images[0]: has no file_name that is a text");
  EXPECT_EQ(what(with(kCoco, "\"a.png\"", "\"a\\u0000b\"")),
            ": images[0]: has no file_name that is the name of a file");
  EXPECT_EQ(what(with(kCoco, "\"width\": 40", "\"width\": -40")),
            ": images[0]: has no width that is a number of pixels from 1 to 65535");
  EXPECT_EQ(what(with(kCoco, "[1, 2, 3, 4]", "[1, 2, 3]")),
            ": annotations[0]: has no bbox that is a list of 4 numbers");
  EXPECT_EQ(what(with(kCoco, "[1, 2, 3, 4]", "[1, 2, 3, null]")),
            ": annotations[0]: has no bbox that is a list of 4 numbers");
  EXPECT_EQ(what(with(kCoco, "[1, 2, 3, 4]", "[1, 2, -3, 4]")),
            ": annotations[0]: has a box of negative size, from (1, 2) to (-2, 6)");
  EXPECT_EQ(what(with(kCoco, "[1, 2, 3, 4]", "[1, 2, 1e300, 4]")),
            ": annotations[0]: has a box with the coordinate 1e+300, where no picture reaches");
  EXPECT_EQ(what(with(kCoco, "\"image_id\": 3", "\"image_id\": 5")),
            ": annotations[0]: is of the picture 5, which is not among the images");
  EXPECT_EQ(what(with(kCoco, "\"category_id\": 9", "\"category_id\": 8")),
            ": annotations[0]: has the category 8, which is not among the categories");
  EXPECT_EQ(what(with(kCoco, "\"id\": 9, \"n", "\"id\": 2, \"n")), ": has two categories of the id 2");
  EXPECT_EQ(what(with(kCoco, "\"cow\"", "\"cat\"")), ": has two categories named 'cat', of the ids 9 and 11");
  EXPECT_EQ(what(with(kCoco, "[-2, 5, 4, 5]", "[-4, 5, 4, 5]")), folder /
                                                                     "a.png: has a box from (-4, 5) to (0, 10), "
                                                                     "which lies outside the picture of 40x20 pixels");
  // The size of b.png is not stated, so only reading it shows what lies outside.
  EXPECT_EQ(what(with(kCoco, "[1, 2, 3, 4]", "[41, 2, 3, 4]")),
            "dog,cat,cow; 0.5,0,40,20=0 0,5,2,10=1 ; " + folder /
                                                             "b.png: has a box from (41, 2) to (44, 6), which lies "
                                                             "outside the picture of 40x20 pixels");
  EXPECT_EQ(what(with(kCoco, "b.png", "c.png")),
            "dog,cat,cow; 0.5,0,40,20=0 0,5,2,10=1 ; " + folder / "c.png: cannot "
                                                                  "open: No such file or directory");
  // Pictures without boxes are samples, too.
  EXPECT_EQ(what(R"({"images": [{"id": 1, "file_name": "a.png"}], "annotations": [], "categories": []})"), "; ");
  EXPECT_EQ(what(std::string(100000, '[')).substr(0, 12), ": is no JSON");
}

//===-- YOLO --------------------------------------------------------------------===//

TEST(Boxes, ComeFromYolo) {
  Folder folder;
  for (const char *name : {"images/train/b.png", "images/train/sub/a.png", "images/train/none.png", "images/val/v.png"})
    folder.write(name, picture());
  folder.write("labels/train/b.txt", "1 0.5 0.5 0.5 0.5\r\n\n  0\t0.05 0.5 0.2 1 \n1 0.5 0.5 0 0.5\n");
  folder.write("labels/train/sub/a.txt", "");
  folder.write("labels/val/v.txt", "1 0.25 0.25 0.5 0.5");
  EXPECT_EQ(described(folder.path()), "0,1; 10,5,30,15=1 0,0,6,20=0 ; ; ; 0,0,20,10=1 ");
  EXPECT_EQ(noteOf(folder.path()),
            "1 picture has no file of labels, and so no boxes; 1 box without an area is left out");
  EXPECT_EQ(described(folder / "images/val"), "0,1; 0,0,20,10=1 ");
  EXPECT_EQ(described(folder / "images/val/"), "0,1; 0,0,20,10=1 ");
  for (const char *yaml :
       {"path: .\nnames:\n  0: cat # the first\n  1: 'big dog'\nnc: 2\n", "names:\n- cat\n- big dog\n",
        "names: [cat, \"big dog\"]\n", "nc: 2\nnames: ['cat',\n  'big dog',]\nx: 1\n", "names: {0: cat, 1: big dog}"}) {
    folder.write("data.yaml", yaml);
    EXPECT_EQ(described(folder / "images/val"), "cat,big dog; 0,0,20,10=1 ") << yaml;
  }
  folder.write("classes.txt", "ant\nbee\n");
  EXPECT_EQ(described(folder / "images/val"), "ant,bee; 0,0,20,10=1 ");
}

TEST(Boxes, OfYoloMayBeWrong) {
  Folder folder;
  folder.write("images/a.png", picture());
  const std::string path = folder / "labels/a.txt";
  auto what = [&](const std::string &labels) {
    folder.write("labels/a.txt", labels);
    const std::string said = described(folder.path());
    return said.starts_with(path) ? said.substr(path.size()) : said;
  };
  EXPECT_EQ(what("0 0.5 0.5 0.5 0.5"), "0; 10,5,30,15=0 ");
  EXPECT_EQ(what("0 0.5 0.5 0.5"), ":1: has 4 numbers, not 5");
  EXPECT_EQ(what("\n0"), ":2: has 1 number, not 5");
  EXPECT_EQ(what("0 0.1 0.1 0.1 0.9 0.9 0.9"), ":1: has 7 numbers, not 5");
  EXPECT_EQ(what("0 0.5 0.5 0.5 x"), ":1: has 'x', which is no number");
  EXPECT_EQ(what("0 0.5 0.5 0.5 1e999"), ":1: has '1e999', which is no number");
  EXPECT_EQ(what("0 nan 0.5 0.5 0.5"), ":1: has nan, which is no share from 0 to 1");
  EXPECT_EQ(what("0 0.5 inf 0.5 0.5"), ":1: has inf, which is no share from 0 to 1");
  EXPECT_EQ(what("0 320 240 100 50"), ":1: has 320, which is no share from 0 to 1");
  EXPECT_EQ(what("0 0.5 0.5 -0.005 0.5"), ":1: has a box of negative size, -0.005 x 0.5");
  EXPECT_EQ(what("0 0.5 0.5 -0.5 0.5"), ":1: has -0.5, which is no share from 0 to 1");
  EXPECT_EQ(what("-1 0.5 0.5 0.5 0.5"), ":1: has the class -1; the classes are 0 to 999999");
  EXPECT_EQ(what("0.5 0.5 0.5 0.5 0.5"), ":1: has the class 0.5; the classes are 0 to 999999");
  EXPECT_EQ(what("1e30 0.5 0.5 0.5 0.5"), ":1: has the class 1e+30; the classes are 0 to 999999");
  EXPECT_EQ(what("0 0\0.5"s), ": is no list, because it has bytes of zero");
  folder.write("data.yaml", "names: [cat]");
  EXPECT_EQ(what("1 0.5 0.5 0.5 0.5"), ":1: has the class 1; the classes are 0 to 0");
  for (const char *yaml : {"names: cat", "names: [cat", "names:\n  1: cat\n", "names:\n  cat\n", "names: [cat,,dog]"}) {
    folder.write("data.yaml", yaml);
    EXPECT_TRUE(what("").starts_with(folder / "data.yaml: has '")) << yaml << what("");
  }
  folder.write("data.yaml", "nc: 3");
  EXPECT_EQ(what(""), "; ");
  std::remove(path.c_str());
  EXPECT_EQ(described(folder.path()), path + ": is missing, and no other picture has a file of labels");
}

//===-- Pascal VOC ----------------------------------------------------------------===//

const std::string kVoc = R"(<?xml version="1.0"?>
<annotation verified="a > b"><!-- by hand --><folder>VOC</folder><filename>other.jpg</filename>
  <size><width>40</width><height>20</height><depth>3</depth></size>
  <object><name>dog &amp; cat</name><difficult>1</difficult>
    <bndbox><xmax>40</xmax><ymax> 20 </ymax><xmin>1</xmin><ymin>1</ymin></bndbox>
    <part><name>head</name><bndbox><xmin>2</xmin><ymin>2</ymin><xmax>3</xmax><ymax>3</ymax></bndbox></part></object>
  <object><name>ant</name><bndbox><xmin>5</xmin><ymin>6</ymin><xmax>5</xmax><ymax>6.5</ymax></bndbox></object>
  <empty/></annotation>
)";

TEST(Boxes, ComeFromVoc) {
  Folder folder;
  folder.write("JPEGImages/b.png", picture());
  folder.write("JPEGImages/a.JPG", Jpeg{.width = kWidth, .height = kHeight}());
  folder.write("JPEGImages/c.png", picture());
  folder.write("Annotations/b.xml", kVoc);
  folder.write("Annotations/a.xml", "<annotation></annotation>");
  EXPECT_EQ(described(folder.path()), "ant,dog & cat; ; 0,0,40,20=1 4,5,5,6.5=0 ");
  EXPECT_EQ(noteOf(folder.path()), "1 picture without annotation is left out");
  folder.write("ImageSets/Main/train.txt", "b\r\n\na\n");
  folder.write("ImageSets/Main/cat_train.txt", "b -1\n");
  folder.write("ImageSets/Main/none.txt", "\n");
  EXPECT_EQ(described(folder.path() + ":train"), "ant,dog & cat; 0,0,40,20=1 4,5,5,6.5=0 ; ");
  EXPECT_EQ(described(folder.path() + ":cat_train"),
            folder / "ImageSets/Main/cat_train.txt: has the line 'b -1', which is that of a list for one class");
  EXPECT_EQ(described(folder.path() + ":none"), folder / "ImageSets/Main/none.txt: names no picture");
  EXPECT_EQ(described(folder.path() + ":x"), folder / "ImageSets/Main/x.txt: cannot open: No such file or directory");
  EXPECT_EQ(described(folder / "JPEGImages:x"),
            folder / "JPEGImages: holds no JPEGImages and Annotations, of which 'x' could be a part");
}

TEST(Boxes, OfVocMayBeWrong) {
  Folder folder;
  folder.write("JPEGImages/b.png", picture());
  const std::string path = folder / "Annotations/b.xml";
  auto what = [&](const std::string &xml) {
    folder.write("Annotations/b.xml", xml);
    const std::string said = described(folder.path());
    return said.starts_with(path) ? said.substr(path.size()) : said;
  };
  for (size_t bytes = 0; bytes < kVoc.find("</annotation>") + 12; ++bytes) {
    const std::string said = what(kVoc.substr(0, bytes));
    EXPECT_TRUE(said.starts_with(":") && said.find("hint") == said.npos) << bytes << said;
  }
  EXPECT_EQ(what(""), ":1: has no element");
  EXPECT_EQ(what("<a/>"), ":1: begins with <a>, not with <annotation>");
  EXPECT_EQ(what("<!DOCTYPE x [<!ENTITY a 'b'>]><annotation/>"),
            ":1: has a document type or a section, which annotations do not need");
  EXPECT_EQ(what("<annotation/><annotation/>"), ":1: has a second element at its top");
  EXPECT_EQ(what("<annotation/>x"), ":1: has text outside of its element");
  EXPECT_EQ(what("<annotation>\n<x></y></annotation>"), ":2: ends <y>, which is not the element that is open");
  EXPECT_EQ(what("<annotation>&#65;</annotation>"),
            ":1: has a '&' that does not begin &lt; &gt; &amp; &quot; or &apos;");
  std::string deep = "<annotation>";
  for (int i = 0; i < 100000; ++i)
    deep += "<a>";
  EXPECT_EQ(what(deep), ":1: has more than 64 elements within each other");
  EXPECT_EQ(what(with(kVoc, "<xmin>5", "<xmin>x")), ":7: has 'x' in annotation/object/bndbox/xmin, which is no number");
  EXPECT_EQ(what(with(kVoc, "<xmin>5", "<xmin>nan")),
            ":7: has 'nan' in annotation/object/bndbox/xmin, which is no number");
  EXPECT_EQ(what(with(kVoc, "<xmin>5", "<xmin>-1e99")),
            ":7: has a box with the coordinate -1e+99, where no picture reaches");
  EXPECT_EQ(what(with(kVoc, "<xmin>5", "<xmin>9")), ":7: has a box of negative size, from (8, 5) to (5, 6.5)");
  EXPECT_EQ(what(with(kVoc, "<xmin>5</xmin>", "")), ":7: ends an object without annotation/object/bndbox/xmin");
  EXPECT_EQ(what(with(kVoc, "<xmin>5</xmin>", "<xmin>5</xmin><xmin>5</xmin>")),
            ":7: has a second annotation/object/bndbox/xmin");
  EXPECT_EQ(what(with(kVoc, "<name>ant</name>", "")), ":7: ends an object without a name");
  EXPECT_EQ(what(with(kVoc, "<width>40", "<width>4.5")),
            ":3: has 4.5 in annotation/size/width, which is no number of pixels");
  EXPECT_EQ(what(with(kVoc, "<width>40", "<width>4")), folder / "JPEGImages/b.png: has a box from (4, 5) to (5, 6.5), "
                                                                "which lies outside the picture of 4x20 pixels");
  folder.write("Annotations/z.xml", kVoc);
  EXPECT_EQ(what(kVoc), ""s + folder / "Annotations/z.xml: has no picture: " + folder / "JPEGImages/z.jpg is missing");
}
} // namespace
} // namespace mpc::images::test
