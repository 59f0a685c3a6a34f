# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
action_steps.py ACTION.YML DIR NAME=VALUE...: runs the steps of a composite action of GitHub as its runner does, in
order, each with the environment that the step names, until one fails; a step of always() runs all the same.

DIR is the runner's: DIR/temp, the step summary DIR/summary, and DIR/artifact, where upload-artifact puts what it gets.
DIR/bin comes first in PATH. NAME=VALUE are inputs. What this does not know of (an expression, another action) fails.
The exit status is that of the step that failed.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

import yaml

ACTION, DIR = sys.argv[1:3]
with open(ACTION, encoding="utf-8") as file:
    action = yaml.safe_load(file)
KNOWN = {"runner.temp": DIR + "/temp", "github.token": "token"}
for name, about in action["inputs"].items():
    KNOWN["inputs." + name] = about.get("default", "")
for argument in sys.argv[3:]:
    name, value = argument.split("=", 1)
    assert name in action["inputs"], name
    KNOWN["inputs." + name] = value


def expand(text):
    """Replaces each ${{ NAME }}, also in a default of an input."""
    while "${{" in text:
        text = re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda m: KNOWN[m[1]], text)
    return text


def runs(condition, failed):
    if condition == "always()":
        return True
    compared = re.fullmatch(r"([\w.-]+) != ''", condition) if condition else None
    assert compared or not condition, condition
    return not failed and (not compared or KNOWN[compared[1]] != "")


def run_shell(step):
    env = {"PATH": DIR + "/bin:" + os.environ["PATH"], "HOME": "/root",
           "GITHUB_ACTION_PATH": os.path.dirname(os.path.abspath(ACTION)), "GITHUB_REPOSITORY": "owner/name",
           "GITHUB_WORKFLOW": "ci", "GITHUB_STEP_SUMMARY": DIR + "/summary", "RUNNER_TEMP": DIR + "/temp"}
    env.update((name, expand(value)) for name, value in step.get("env", {}).items())
    assert step["shell"] == "bash", step["shell"]
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", expand(step["run"])], env=env,
                          check=False).returncode


def upload(step):
    """What upload-artifact@v4 takes: all below the path; without include-hidden-files, nothing that is hidden."""
    assert step["uses"] == "actions/upload-artifact@v4", step["uses"]
    hidden = [] if step["with"].get("include-hidden-files") else [".*"]
    shutil.copytree(expand(step["with"]["path"]), DIR + "/artifact", ignore=shutil.ignore_patterns(*hidden))
    return 0 if glob.glob(DIR + "/artifact/*") else 1


os.makedirs(DIR + "/temp")
status = 0
for step in action["runs"]["steps"]:
    if runs(step.get("if"), status):
        status = (run_shell if "run" in step else upload)(step) or status
sys.exit(status)
