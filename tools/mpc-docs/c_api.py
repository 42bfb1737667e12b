# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/c-api.md of the header that `mpc compile --emit=lib` writes beside a library (runtime/abi/mpc/program.h, with the types of kernel.h).

Comments become paragraphs, and the declarations below them blocks of C. A comment `/* ---- NAME ---- */` begins a section.
"""
import os
import re

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)


def text_of(comment):
    """Returns the lines of a comment without what marks it as one."""
    lines = [re.sub(r"^ ?\* ?", "", line) if number else line for number, line in enumerate(comment.strip("\n").split("\n"))]
    return "\n".join(line.rstrip() for line in lines).strip()


def paragraphs(text):
    """Returns a comment's text as Markdown: indented lines are code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        if all(line.startswith("  ") for line in lines):
            indent = min(len(line) - len(line.lstrip()) for line in lines)
            blocks.append("```c\n" + "\n".join(line[indent:] for line in lines) + "\n```")
        else:
            blocks.append(" ".join(line.strip() for line in lines))
    return "\n\n".join(blocks)


def declarations(body):
    """Yields ("section", name), ("text", words) and ("code", lines) of what lies between the guards of a header."""
    lines, at = body.split("\n"), 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
            continue
        if line.startswith("/*"):
            end = at
            while "*/" not in lines[end]:
                end += 1
            text = text_of(COMMENT.match("\n".join(lines[at:end + 1]))[1])
            section = re.fullmatch(r"-+ (.*?) -+", text)
            yield ("section", section[1]) if section else ("text", text)
            at = end + 1
            continue
        end, depth = at, 0
        while end < len(lines) and (depth or (lines[end].strip() and not lines[end].startswith("/*"))):
            depth += lines[end].count("{") - lines[end].count("}")
            end += 1
        yield "code", "\n".join(lines[at:end])
        at = end


def body_of(header):
    """Returns what a C compiler declares: the header without its first comment, its guards and its #include lines."""
    text = re.sub(r"^\s*/\*.*?\*/", "", header, count=1, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus\n(extern \"C\" \{|\})\n#endif\n", "", text)
    return re.sub(r"^#(ifndef|include|define MPC_PROGRAM_H|endif).*\n", "", text, flags=re.M)


def page(source):
    folder = os.path.join(source, "runtime", "abi", "mpc")
    with open(os.path.join(folder, "program.h"), encoding="utf-8") as file:
        header = file.read()
    with open(os.path.join(folder, "kernel.h"), encoding="utf-8") as file:
        types = re.search(r"^typedef MPC_ENUM\(mpc_dtype\).*?;$", file.read(), re.S | re.M)[0]
    parts = ["# C API", "Printed from `runtime/abi/mpc/program.h` (`make docs`). `mpc compile MODEL.onnx --emit=lib -o libMODEL.so` writes the library and `MODEL.h`, which holds all of this, the batch as "
             "`MODEL_BATCH`, and the inputs and outputs of the model in its first comment. `cc train.c -L. -lMODEL` links it; the README has a whole program.",
             paragraphs(text_of(COMMENT.search(header)[1])), "## The session"]
    for kind, text in declarations(body_of(header)):
        if kind == "section":
            parts.append(f"## {text}")
        elif kind == "text":
            parts.append(paragraphs(text))
        else:
            parts.append(f"```c\n{text}\n```")
    parts += ["## Element types", "`MPC_ENUM(NAME)` is `enum NAME`, with the type `int` in C++.", f"```c\n{types}\n```"]
    return "\n\n".join(parts) + "\n"
