// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the terminal behind a descriptor can show, and text that fits it.
#pragma once

#include <string>
#include <string_view>

namespace mpc::rt {

/// Returns whether a line on the descriptor can be drawn again: it is a terminal, and TERM is not "dumb".
bool redraws(int descriptor);
/// Returns whether the descriptor may get colours: a terminal that can redraw, with TERM set and NO_COLOR unset or
/// empty (no-color.org).
bool hasColours(int descriptor);
/// Returns how many columns a line has: those of the terminal, else $COLUMNS, else 80.
int columnsOf(int descriptor);

enum class Colour { Red = 31, Green = 32, Yellow = 33, Cyan = 36 };
/// Returns the text in a colour where the descriptor has colours, else the text as it is.
std::string painted(std::string_view text, Colour colour, int descriptor);
/// Paints "error:", "warning:", "note:" and "hint:" at the beginning of lines.
std::string withPaintedLabels(std::string_view text, int descriptor);

/// Breaks text at blanks into lines of at most `width` columns. All lines but the first begin with `indent` blanks; the
/// first is taken to stand behind as many columns. A word that is longer than a line has a line of its own.
std::string wrapped(std::string_view text, int width, int indent);

} // namespace mpc::rt
