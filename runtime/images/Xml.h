// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads XML as annotations of pictures use it: elements, text, comments and the five entities. Attributes are skipped,
// and a document type is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mpc::images {

/// Goes through a document. It keeps references to its arguments.
class XmlReader {
public:
  XmlReader(const std::string &path, std::string_view text) : path_(path), text_(text) {}

  enum Kind { Begin, End, Done };
  /// Reads up to the next begin or end of an element; `path()` is then that of the element, and at an end `value()` is
  /// the text within it. Throws Error, located at "PATH:LINE", for what is no such document.
  Kind next();
  /// Returns the names of the open elements, from the outermost on: "annotation/object/name".
  const std::string &path() const { return open_; }
  /// Returns the text of the element that ends, without spaces around it.
  std::string value() const;
  /// Returns "PATH:LINE".
  std::string where() const;

private:
  bool take(std::string_view what);
  void skipBehind(std::string_view end, const char *what);
  std::string_view name();
  void readText();
  void readEntity();
  void close();
  [[noreturn]] void refuse(std::string_view what) const;

  const std::string &path_;
  std::string_view text_;
  size_t at_ = 0;
  std::string open_, value_;
  std::vector<size_t> lengths_; // of open_ before each open element
  bool closing_ = false, leaving_ = false, rooted_ = false;
};

} // namespace mpc::images
