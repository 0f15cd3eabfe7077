#!/usr/bin/env python3
"""Runs the snippets of the documents, as a reader would: snippets.py SOURCE_DIR BIN_DIR LIBRARY COMPILER

LIBRARY is libsaccade.so. A block of shell or C++ runs if the line `<!-- executed by tests/docs -->` stands before its fence. All
blocks of a document run one after the other in one folder that holds input.mp4, portrait.jpg, beach.jpg and the default model,
with the built programs first in PATH.
Exit status: 0 all ran; 1 one failed; 77 the default model is not in the cache.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MARK = "<!-- executed by tests/docs -->"
DOCUMENTS = ["README.md", "docs/configuration.md", "docs/measuring.md"]


def blocks(text):
    """(line number, language, text) of each marked block."""
    pattern = re.escape(MARK) + r"\n```(sh|cpp)\n(.*?)^```$"
    for match in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, match.start()) + 2, match.group(1), match.group(2)


def make_media(folder, picture):
    """A short clip with sound, and two pictures, from a picture that is in the repository."""
    def ffmpeg(*arguments):
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments], cwd=folder, check=True)

    ffmpeg("-loop", "1", "-i", str(picture), "-f", "lavfi", "-i", "sine=r=44100", "-t", "0.4", "-r", "25",
           "-vf", "scale=320:240,format=yuv420p", "-c:v", "libx264", "-c:a", "aac", "input.mp4")
    ffmpeg("-i", str(picture), "-vf", "scale=320:320", "portrait.jpg")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=640x360", "-frames:v", "1", "beach.jpg")


def compile_command(text, folder, source, library, compiler):
    """Writes the C++ program into the folder; returns the command that builds and runs it."""
    (folder / "snippet.cpp").write_text(text)
    return (f"{compiler} -std=c++20 -Wall -Wextra -Werror -I'{source}/include' snippet.cpp '{library}' "
            f"-Wl,-rpath,'{library.parent}' -o snippet && ./snippet")


def main():
    source, binaries, library = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    compiler = sys.argv[4]
    models = json.loads(subprocess.run([binaries / "saccade", "fetch", "--list", "--json"], capture_output=True, check=True).stdout)
    default = next(model for model in models if model["name"] == "selfie")
    if not default["fetched"]:
        print("the default model is not in the cache; scripts/fetch-model gets it")
        return 77
    failures = count = 0
    for document in DOCUMENTS:
        path = source / document
        if not path.is_file():
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copy(default["path"], folder)
            make_media(folder, source / "docs/images/astronaut.jpg")
            environment = dict(os.environ, PATH=f"{binaries}:{os.environ['PATH']}")
            for line, language, text in blocks(path.read_text()):
                count += 1
                if language == "cpp":
                    text = compile_command(text, folder, source, library, compiler)
                done = subprocess.run(["sh", "-eu", "-c", text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                print(f"{document}:{line}: {'ok' if done.returncode == 0 else 'FAILED'}")
                if done.returncode != 0:
                    failures += 1
                    print(text + done.stdout)
    if count == 0:
        print("no document has a block marked for execution")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
