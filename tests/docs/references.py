#!/usr/bin/env python3
"""Checks that the documents and the program agree: references.py SOURCE_DIR SACCADE

- relative links in every Markdown file lead to something;
- every environment variable that the sources read, and every topic of SACCADE_LOG, stands in docs/environment-variables.md;
- every option of every subcommand stands in docs/configuration.md;
- scripts/fetch-model and `saccade fetch` know the same models with the same checksums.
"""
import functools
import json
import pathlib
import re
import subprocess
import sys


def sources(root):
    for folder in ("src", "apps"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                yield path.read_text()


def broken_links(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-z", "*.md"], capture_output=True, text=True).stdout
    documents = [root / name for name in names.split("\0") if name] or root.rglob("*.md")
    for document in documents:
        text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not re.match(r"[a-z]+:", target) and not (document.parent / target).exists():
                yield f"{document.relative_to(root)}: the link to {target} leads nowhere"


def undocumented_variables(root):
    document = (root / "docs/environment-variables.md").read_text()
    for text in sources(root):
        for name in re.findall(r'getenv\("(\w+)"\)', text):
            if f"`{name}`" not in document and f"`${name}`" not in document:
                yield f"docs/environment-variables.md: nothing about {name}"
        for topic in re.findall(r'log::(?:debug|enabled|write)\(\s*"(\w+)"', text):
            if f"`{topic}`" not in document:
                yield f"docs/environment-variables.md: nothing about the topic {topic}"


@functools.cache
def help_of(saccade, *words):
    return subprocess.run([saccade, *words, "--help"], check=True, capture_output=True, text=True).stdout


def undocumented_options(root, saccade):
    document = (root / "docs/configuration.md").read_text()
    listing = help_of(saccade).split("Subcommands:")[1]
    commands = re.findall(r"^  (\w+)", listing, re.MULTILINE)
    if not commands:
        yield "saccade --help lists no subcommand"
    for command in commands:
        section = re.search(rf"^## saccade {command}\b.*?(?=^## |\Z)", document, re.DOTALL | re.MULTILINE)
        if section is None:
            yield f"docs/configuration.md: no section 'saccade {command}'"
            continue
        for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_of(saccade, command), re.MULTILINE):
            of_run = command in ("config", "compare", "evaluate", "optimize", "profile") and option in help_of(saccade, "run")
            if option != "--help" and not of_run and f"`{option}" not in section.group(0):
                yield f"docs/configuration.md: {option} of 'saccade {command}' is missing"


def different_models(root, saccade):
    ours = {(m["name"], m["package"], m["sha256"], m["member"])
            for m in json.loads(subprocess.run([saccade, "fetch", "--list", "--json"], check=True, capture_output=True).stdout)}
    script = (root / "scripts/fetch-model").read_text()
    theirs = {(name, package, sha, member) for name, package, member, sha in
              re.findall(r"^([\w-]+) (\S+==\S+) \w{64} (\S+) (\w{64})", script, re.MULTILINE) if not member.endswith(".mp4")}
    for model in sorted(ours ^ theirs):
        yield f"scripts/fetch-model and saccade fetch differ: {model[0]}"


def main():
    root, saccade = map(pathlib.Path, sys.argv[1:3])
    complaints = sorted({*broken_links(root), *undocumented_variables(root), *undocumented_options(root, saccade),
                         *different_models(root, saccade)})
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
