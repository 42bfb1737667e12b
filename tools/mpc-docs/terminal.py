#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command in a terminal of 80 columns and writes a picture of what the terminal shows.

usage: tools/mpc-docs/terminal.py --out docs/pictures/training.svg [--columns 80] [--rows 24] [--seconds S] [--prompt TEXT] -- COMMAND...

With --seconds the picture is taken while the command still runs, and the command is interrupted behind it. The terminal understands what mpc's programs write: carriage returns, line feeds,
"erase the line" and colours (ECMA-48, sections 8.3.41 and 8.3.117); a line that is longer than the terminal wraps. Exit status 1 when the command cannot be started or shows nothing.
"""
import argparse
import codecs
import fcntl
import html
import os
import pty
import re
import select
import shlex
import signal
import struct
import sys
import termios
import time

COLOURS = ["#1e1e1e", "#d16969", "#6a9955", "#d7ba7d", "#569cd6", "#c586c0", "#4ec9b0", "#d4d4d4"]
WIDTH, HEIGHT, MARGIN = 8.4, 18, 12  # of a character and of the frame, in pixels
ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


class Screen:
    """The last rows of a terminal: lists of (character, colour or None, bold)."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.column, self.colour, self.bold = [[]], 0, None, False

    def put(self, character):
        if self.column == self.columns:
            self.lines.append([])
            self.column = 0
        line = self.lines[-1]
        line.extend([(" ", None, False)] * (self.column - len(line)))
        line[self.column:self.column + 1] = [(character, self.colour, self.bold)]
        self.column += 1

    def escape(self, parameters, command):
        if command == "K":
            del self.lines[-1][self.column:]
        elif command == "m":
            for code in parameters.split(";"):
                number = int(code or 0)
                if number == 0:
                    self.colour, self.bold = None, False
                elif number == 1:
                    self.bold = True
                elif number == 22:
                    self.bold = False
                elif number in (2, 90):
                    self.colour = "#8a8a8a"
                elif 30 <= number < 38:
                    self.colour = COLOURS[number - 30]
                elif number == 39:
                    self.colour = None

    def feed(self, text):
        at = 0
        while at < len(text):
            if match := ESCAPE.match(text, at):
                self.escape(*match.groups())
                at = match.end()
                continue
            character = text[at]
            at += 1
            if character == "\r":
                self.column = 0
            elif character == "\n":
                self.lines.append([])
                self.column = 0
            elif character == "\b":
                self.column = max(0, self.column - 1)
            elif character >= " ":
                self.put(character)

    def picture(self):
        """Returns the last rows as SVG."""
        lines = self.lines[:-1] if not self.lines[-1] else self.lines
        lines = lines[-self.rows:]
        width, height = self.columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">',
               f'<rect width="100%" height="100%" rx="6" fill="{COLOURS[0]}"/>',
               f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="{COLOURS[7]}" xml:space="preserve">']
        for row, line in enumerate(lines):
            spans, start = [], 0
            for end in range(1, len(line) + 1):
                if end == len(line) or line[end][1:] != line[start][1:]:
                    text = "".join(cell[0] for cell in line[start:end])
                    style = (f' fill="{line[start][1]}"' if line[start][1] else "") + (' font-weight="bold"' if line[start][2] else "")
                    if text.strip():
                        spans.append(f'<tspan x="{MARGIN + start * WIDTH:.1f}" textLength="{len(text) * WIDTH:.1f}"{style}>{html.escape(text)}</tspan>')
                    start = end
            if spans:
                out.append(f'<text y="{MARGIN + row * HEIGHT + 14}">{"".join(spans)}</text>')
        return "\n".join([*out, "</g>", "</svg>", ""])


def run(command, screen, seconds):
    """Feeds the screen with what the command writes to a terminal, until it ends or `seconds` are over."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.environ["TERM"] = "xterm-256color"
            os.execvp(command[0], command)
        except OSError as error:
            print(f"error: {command[0]}: {error.strerror}")
            os._exit(127)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", screen.rows, screen.columns, 0, 0))
    end = time.monotonic() + seconds if seconds else None
    decoder, text = codecs.getincrementaldecoder("utf-8")("replace"), ""
    while True:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()) if end else None)
        try:
            data = os.read(terminal, 65536) if ready else b""
        except OSError:  # the command has ended
            data = b""
        if not data:
            break
        text += decoder.decode(data)
        last = text.rfind("\x1b")
        cut = last if last >= 0 and not ESCAPE.match(text, last) else len(text)  # the rest of a sequence comes with the next bytes
        screen.feed(text[:cut])
        text = text[cut:]
    if end:
        os.kill(child, signal.SIGINT)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--seconds", type=float, help="take the picture behind so many seconds, while the command runs")
    parser.add_argument("--prompt", default="", help="the command as the picture's first line shows it")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    screen = Screen(options.columns, options.rows)
    screen.feed("\x1b[1m$ " + (options.prompt or shlex.join(options.command)).replace("\n", "\r\n") + "\x1b[0m\r\n")
    status = run(options.command, screen, options.seconds)
    if len(screen.lines) < 3 or status == 127:
        sys.exit(f"error: {options.command[0]}: shows nothing (status {status})")
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(screen.picture())


if __name__ == "__main__":
    main()
