"""Writes model/redaction/scanner-rules.json: the rules of gitleaks as JavaScript can run them.

    python3 scripts/secret-rules.py $(go mod download -json github.com/zricethezav/gitleaks/v8@v8.30.1 | jq -r .Dir)

Patterns are of Go's RE2. JavaScript of Node 20 knows no flags within a pattern: letters get both their cases instead.
"""

import json
import pathlib
import re
import sys
import tomllib

LEFT_OUT = {
    "pkcs12-file": "goes by the name of a file",
    "generic-api-key": "takes any digest beside the word key for a secret; secret-name.ts knows names",
    "curl-auth-header": "quadratic without RE2; known-text.ts knows headers",
    "curl-auth-user": "quadratic without RE2; program-flags.ts knows curl",
    "private-key": "lets one pass whose end is cut off; known-text.ts does not",
    "kubernetes-secret-yaml": "goes by the name of a file, and takes any `data:` for a secret",
}

# The prefix of a name in a file is irrelevant to the secret, and costs 50 steps per character.
BEFORE_NAME = r"[\w.-]{0,50}?"
# Required end of a secret in a file. In a command line or a URL any character outside the secret may follow.
AFTER_SECRET = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
NO_PART_OF_IT = r"(?!\w)"

TOKEN = re.compile(
    r"\(\?P<\w+>|\(\?[ims-]+:|\(\?[ims-]+\)|\(\?[:=!]|\(|\)|\[\^?\]?(?:\[:\w+:\]|\\x[0-9a-fA-F]{2}|\\.|[^\]\\])*\]"
    r"|\{\d+(?:,\d*)?\}|\\x[0-9a-fA-F]{2}|\\.|.",
    re.S,
)


def both_cases_of_class(text):
    body = text.replace("[:alnum:]", "a-zA-Z0-9")
    inner = re.sub(r"(?<!\\)([a-z])-([a-z])", lambda m: m[0] + f"{m[1].upper()}-{m[2].upper()}", body)
    inner = re.sub(r"(?<!\\)(?<![A-Za-z])([A-Z])-([A-Z])(?![a-z])", lambda m: m[0] + f"{m[1].lower()}-{m[2].lower()}", inner)
    plain = re.sub(r"\\x[0-9a-fA-F]{2}|\\.|[A-Za-z0-9]-[A-Za-z0-9]", "", inner)
    letters = {c for c in plain if c.isalpha() and c.isascii()}
    extra = "".join(sorted({c.swapcase() for c in letters} - letters))
    return inner[:-1] + extra + "]"


def javascript(pattern):
    """The pattern without flags, and how RE2's flags hold: to the end of the group in which they stand."""
    out, flags = [], [set()]
    for token in TOKEN.findall(pattern):
        here = flags[-1]
        if token.startswith("(?P<"):
            flags.append(set(here))
            out.append("(")
        elif re.fullmatch(r"\(\?[ims-]+[:)]", token):
            on, _, off = token[2:-1].partition("-")
            if token.endswith(")"):
                flags[-1] = (here | set(on)) - set(off)
            else:
                flags.append((here | set(on)) - set(off))
                out.append("(?:")
        elif token.startswith("("):
            flags.append(set(here))
            out.append(token)
        elif token == ")":
            flags.pop()
            out.append(token)
        elif token.startswith("["):
            out.append(both_cases_of_class(token) if "i" in here else token.replace("[:alnum:]", "a-zA-Z0-9"))
        elif token == r"\z":
            out.append("$")
        elif token == "." and "s" in here:
            out.append(r"[\s\S]")
        elif "i" in here and len(token) == 1 and token.isalpha() and token.isascii():
            out.append(f"[{token.lower()}{token.upper()}]")
        else:
            out.append(token)
    return "".join(out)


def rule(source):
    pattern = source["regex"].replace(AFTER_SECRET, NO_PART_OF_IT).replace(BEFORE_NAME, "")
    return {
        "id": source["id"],
        "keywords": sorted(word.lower() for word in source["keywords"]),
        "pattern": javascript(pattern),
        **({"group": source["secretGroup"]} if "secretGroup" in source else {}),
    }


def main(folder):
    root = pathlib.Path(folder)
    config = tomllib.loads((root / "config/gitleaks.toml").read_text())
    rules = [rule(source) for source in config["rules"] if source["id"] not in LEFT_OUT]
    text = ",\n".join(json.dumps(each, separators=(",", ":")) for each in rules)
    about = {"from": f"gitleaks {root.name.split('@')[-1]}, config/gitleaks.toml", "license": "MIT, Copyright (c) 2019 Zachary Rice"}
    target = pathlib.Path(__file__).parent.parent / "model/redaction/scanner-rules.json"
    target.write_text(f'{{"about":{json.dumps(about)},"rules":[\n{text}\n]}}\n')
    print(f"{len(rules)} rules in {target}")


main(sys.argv[1])
