// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Xml.h"

#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::images {

static constexpr size_t kMostDepth = 64;
static constexpr std::string_view kSpaces = " \t\r\n";

std::string XmlReader::where() const {
  const auto end = text_.begin() + std::ptrdiff_t(std::min(at_, text_.size()));
  return rt::concat(path_, ":", 1 + std::count(text_.begin(), end, '\n'));
}

void XmlReader::refuse(std::string_view what) const {
  rt::fail(where(), std::string(what), "write the file again, or repair it in an editor");
}

bool XmlReader::take(std::string_view what) {
  if (!text_.substr(at_).starts_with(what))
    return false;
  at_ += what.size();
  return true;
}

void XmlReader::skipBehind(std::string_view end, const char *what) {
  const size_t found = text_.find(end, at_);
  if (found == text_.npos)
    refuse(rt::concat("has ", what, " that does not end"));
  at_ = found + end.size();
}

std::string_view XmlReader::name() {
  const size_t end = std::min(text_.find_first_of(" \t\r\n/><=\"'&", at_), text_.size());
  const std::string_view name = text_.substr(at_, end - at_);
  if (name.empty())
    refuse("has a '<' without the name of an element");
  at_ = end;
  return name;
}

void XmlReader::readEntity() {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  for (auto [text, character] : kEntities)
    if (take(text)) {
      value_ += character;
      return;
    }
  refuse("has a '&' that does not begin &lt; &gt; &amp; &quot; or &apos;");
}

void XmlReader::readText() {
  while (at_ < text_.size() && text_[at_] != '<') {
    if (text_[at_] == '&') {
      readEntity();
      continue;
    }
    const size_t end = std::min(text_.find_first_of("<&", at_), text_.size());
    value_ += text_.substr(at_, end - at_);
    at_ = end;
  }
  if (lengths_.empty() && value_.find_first_not_of(kSpaces) != value_.npos)
    refuse("has text outside of its element");
}

std::string XmlReader::value() const {
  const size_t first = value_.find_first_not_of(kSpaces);
  return first == value_.npos ? "" : value_.substr(first, value_.find_last_not_of(kSpaces) - first + 1);
}

void XmlReader::close() {
  open_.resize(lengths_.back());
  lengths_.pop_back();
  value_.clear();
}

XmlReader::Kind XmlReader::next() {
  if (leaving_)
    close();
  leaving_ = false;
  if (closing_) { // <name/>
    closing_ = false;
    leaving_ = true;
    return End;
  }
  for (;;) {
    readText();
    if (at_ >= text_.size()) {
      if (!lengths_.empty())
        refuse(rt::concat("ends within <", open_.substr(lengths_.back() + (lengths_.size() > 1)), ">"));
      if (!rooted_)
        refuse("has no element");
      return Done;
    }
    if (take("<!--")) {
      skipBehind("-->", "a comment");
    } else if (take("<?")) {
      skipBehind("?>", "a declaration");
    } else if (take("<!")) {
      refuse("has a document type or a section, which annotations do not need");
    } else if (take("</")) {
      const std::string_view ended = name();
      if (lengths_.empty() || ended != std::string_view(open_).substr(lengths_.back() + (lengths_.size() > 1)))
        refuse(rt::concat("ends <", ended, ">, which is not the element that is open"));
      at_ = std::min(text_.find_first_not_of(kSpaces, at_), text_.size());
      if (!take(">"))
        refuse(rt::concat("has no '>' behind </", ended));
      leaving_ = true;
      return End;
    } else {
      take("<");
      if (rooted_ && lengths_.empty())
        refuse("has a second element at its top");
      if (lengths_.size() == kMostDepth)
        refuse(rt::concat("has more than ", kMostDepth, " elements within each other"));
      const std::string_view begun = name();
      lengths_.push_back(open_.size());
      open_ += rt::concat(open_.empty() ? "" : "/", begun);
      rooted_ = true;
      value_.clear();
      // Attributes: a '>' in quotes ends nothing.
      for (char quote = 0; at_ < text_.size() && (quote != 0 || text_[at_] != '>'); ++at_)
        if (quote != 0 ? text_[at_] == quote : text_[at_] == '"' || text_[at_] == '\'')
          quote = quote != 0 ? 0 : text_[at_];
        else if (quote == 0 && text_[at_] == '<')
          refuse(rt::concat("has no '>' behind <", begun));
      if (at_ >= text_.size())
        refuse(rt::concat("has no '>' behind <", begun));
      closing_ = text_[at_ - 1] == '/';
      ++at_;
      return Begin;
    }
  }
}

} // namespace mpc::images
