#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs mpc into a folder and uses it from there, as a CMake project outside of mpc does (install/outside.cmake)."""
import glob
import os
import re
import shutil

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
MAKE_MODEL = os.path.join(SOURCE, "tools", "models", "make_model.py")
EXPECTED = ["bin/mpc", "bin/mpc-opt", "include/mpc/cpu.h", "include/mpc/data.h", "include/mpc/emulator.h", "include/mpc/kernel.h", "include/mpc/library.h", "include/mpc/program.h", "lib/cmake/mpc/mpc-config-version.cmake",
            "lib/cmake/mpc/mpc-config.cmake", "lib/mpc/libmpc-emulator.so", "lib/mpc/libmpc-program.so", "lib/mpc/mpc", "lib/mpc/mpc-opt", "lib/mpc/mpc-runner", "lib/mpc/mpc-tuner"]
EXPECTED += ["share/bash-completion/completions/mpc", "share/fish/vendor_completions.d/mpc.fish", *(f"share/man/man1/mpc{page}.1" for page in
             ("-check", "-compile", "-explain", "-export", "-ops", "-program", "-run", "-verify", "")), "share/zsh/site-functions/_mpc"]
DOCUMENTS = ["CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "NOTICE", "README.md", "SECURITY.md"]
# Maps a folder of the source to the folder in the prefix, and says which of its files are installed.
FOLDERS = [("docs", "share/doc/mpc/docs", (".md", ".svg", ".png")), ("tools/torch", "share/mpc/torch", ".py")]


def below(folder, end=""):
    """Returns the paths of the files below a folder whose names have this end, relative to the folder."""
    return [os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names if name.endswith(end)]


def installed(folder):
    harness.must(["cmake", "--install", OPTIONS.build, "--prefix", folder])
    return sorted(below(folder))


def files():
    with harness.folder() as folder:
        found = installed(folder)
        expected = EXPECTED + [f"share/doc/mpc/{name}" for name in DOCUMENTS]
        expected += [f"{prefix}/{path}" for source, prefix, end in FOLDERS for path in below(f"{SOURCE}/{source}", end)]
        # The plugins of mpc are installed where it has them.
        expected += [f"lib/mpc/{name}" for name in ("libmpc_onednn.so", "libmpc_images.so") if os.path.exists(f"{OPTIONS.bin}/{name}")]
        if found != sorted(expected):
            raise harness.Failure("\n".join(sorted({*found} ^ {*expected})))
        documents = f"{folder}/share/doc/mpc"
        for path in glob.glob(f"{documents}/**/*.md", recursive=True):
            for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", open(path).read()):
                if "://" not in link and not os.path.exists(os.path.join(os.path.dirname(path), link)):
                    raise harness.Failure(f"{path}: nothing is at {link}")
        if not os.access(f"{folder}/share/mpc/torch/export.py", os.X_OK):
            raise harness.Failure("export.py is not executable")
        for arguments, expected in (("--help", (0, "--reference FILE.npz")), ("m:M --inptu x=2", (1, "unknown option '--inptu'\nhint: did you mean --input?")),
                                    ("m:M -o m.onnx --input x=2", (1, "-m pip install torch onnx onnxscript"))):
            status, out, err = harness.run(["/usr/bin/python3", "-S", f"{folder}/share/mpc/torch/export.py", *arguments.split()])  # which finds no package
            if status != expected[0] or expected[1] not in out + err:
                raise harness.Failure(f"export.py {arguments}: {status} {out}{err}")
        for tool in ("mpc", "mpc-opt"):
            harness.must([f"{folder}/bin/{tool}", "--version"], environment={"PATH": "/nonexistent"})


def project():
    with harness.folder() as folder:
        installed(f"{folder}/mpc")
        os.mkdir(f"{folder}/project")
        shutil.copy(f"{HERE}/install/outside.cmake", f"{folder}/project/CMakeLists.txt")
        shutil.copy(f"{HERE}/install/step.c", f"{folder}/project")
        harness.must(["/usr/bin/python3", MAKE_MODEL, "regressor", "regressor.onnx"], cwd=f"{folder}/project")
        for generator in ("Ninja", "Unix Makefiles"):
            shutil.rmtree(f"{folder}/build", ignore_errors=True)
            harness.must(["cmake", "-S", "project", "-B", "build", "-G", generator, f"-DCMAKE_PREFIX_PATH={folder}/mpc"], cwd=folder)
            harness.must(["cmake", "--build", "build"], cwd=folder)
            status, out, err = harness.run(["cmake", "--build", "build"], cwd=folder)
            if status != 0 or "mpc compile" in out or "Circular" in err:
                raise harness.Failure(f"{generator} builds again: {out}{err}")
        said = harness.must([f"{folder}/build/step"], environment={})
        if not said.startswith("loss "):
            raise harness.Failure(said)
        if f"{folder}/mpc/lib/mpc" not in str(open(f"{folder}/build/train", "rb").read()[-65536:]):
            raise harness.Failure("the program does not name the installation that made it")
        harness.must([f"{folder}/build/train", "info"])


def bash_words(folder, *words):
    """Returns what bash offers for the last of the words."""
    script = f'source "{folder}/share/bash-completion/completions/mpc"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mpc; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return harness.must(["bash", "-c", script, "bash", *words]).split()


def completion():
    with harness.folder() as folder:
        installed(folder)
        for words, wanted in ((("mpc", ""), {"compile", "check", "verify", "--version"}), (("mpc", "comp"), {"compile"}), (("mpc", "check", "--mo"), {"--mode", "--momentum"}),
                              (("mpc", "compile", "--emit", ""), {"exe", "lib", "tuner"}), (("mpc", "compile", "--emit", "=", "l"), {"lib", "llvm"}), (("mpc", "compile", "--emit", "="), {"exe", "lib"})):
            found = set(bash_words(folder, *words))
            if not wanted <= found or (words[-1] not in ("", "=") and not all(word.startswith(words[-1]) for word in found)):
                raise harness.Failure(f"{words}: {found}")
        for words in (("mpc", "compile", "-o", ""), ("mpc", "compile", "mod")):
            if bash_words(folder, *words):
                raise harness.Failure(f"{words}: no file")
        for shell, script in (("zsh", "zsh/site-functions/_mpc"), ("fish", "fish/vendor_completions.d/mpc.fish")):
            if shutil.which(shell):
                harness.must([shell, "-n", f"{folder}/share/{script}"])


def man_pages():
    with harness.folder() as folder:
        installed(folder)
        for command in ("mpc", "mpc-compile", "mpc-program"):
            with open(f"{folder}/share/man/man1/{command}.1", encoding="utf-8") as file:
                text = file.read()
            if not text.split("\n")[1].startswith(f".TH {command.upper()} 1") or ".SH NAME" not in text or " SYNOPSIS" not in text:
                raise harness.Failure(text[:500])
            if shutil.which("groff"):
                status, out, err = harness.run(["groff", "-man", "-Tascii", "-ww", "-P-c", "-P-b", "-P-u", f"{folder}/share/man/man1/{command}.1"])
                if status != 0 or err or "NAME" not in out:
                    raise harness.Failure(err)


if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([("install/files", files), ("install/project", project), ("install/completion", completion), ("install/man pages", man_pages)], OPTIONS.only)
