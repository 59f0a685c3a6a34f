# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""One Firefox without a screen, driven in its own protocol, Marionette, which needs no geckodriver:
https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html"""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from browser import file_url

TIMEOUT = 60


def find():
    """Debian calls it firefox-esr; None: there is none."""
    return next((p for p in map(shutil.which, ("firefox-esr", "firefox")) if p), None)


class Firefox:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="ebpfrec-firefox.")
        with open(os.path.join(self.profile, "user.js"), "w", encoding="utf-8") as f:
            f.write('user_pref("marionette.port", 0);\n')
        self.process = subprocess.Popen(
            [find(), "--headless", "--marionette", "--no-remote", "--profile", self.profile, "about:blank"],
            env=dict(os.environ, HOME=self.profile), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.rest = 0, b""
        try:
            self.socket = socket.create_connection(("127.0.0.1", self.port()), TIMEOUT)
            self.message()
            self.call("WebDriver:NewSession")
        except BaseException:
            self.close()
            raise

    def port(self):
        """Firefox takes a free one, and writes it into its profile."""
        path, until = os.path.join(self.profile, "MarionetteActivePort"), time.monotonic() + TIMEOUT
        while time.monotonic() < until and self.process.poll() is None:
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    number = f.read().strip()
                if number:
                    return int(number)
            time.sleep(0.1)
        raise RuntimeError("firefox does not listen")

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def read(self, until):
        while not until(self.rest):
            data = self.socket.recv(1 << 16)
            if not data:
                raise RuntimeError("firefox has ended")
            self.rest += data

    def message(self):
        """A length in decimal, a colon, and so many bytes of JSON."""
        self.read(lambda rest: b":" in rest)
        size, self.rest = self.rest.split(b":", 1)
        self.read(lambda rest: len(rest) >= int(size))
        one, self.rest = self.rest[:int(size)], self.rest[int(size):]
        return json.loads(one)

    def call(self, command, **params):
        self.number += 1
        data = json.dumps([0, self.number, command, params]).encode()
        self.socket.sendall(b"%d:%s" % (len(data), data))
        while True:
            kind, number, error, result = self.message()
            if kind == 1 and number == self.number:
                if error:
                    raise RuntimeError("%s: %s" % (command, error.get("message")))
                return result

    def evaluate(self, script):
        return self.call("WebDriver:ExecuteScript", script="return " + script, args=[], sandbox=None)["value"]

    def open(self, path, fragment=""):
        self.call("WebDriver:Navigate", url=file_url(path, fragment))

    def wait(self, condition, seconds=TIMEOUT):
        until = time.monotonic() + seconds
        while True:
            value = self.evaluate(condition)
            if value or time.monotonic() > until:
                return value
            time.sleep(0.05)

    def key(self, key):
        """Presses a key: "Tab", "Enter", "ArrowLeft", "a"."""
        code = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013",
                "ArrowRight": "\ue014",
                "ArrowDown": "\ue015"}.get(key, key)
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": code}, {"type": "keyUp", "value": code}]}])

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"]))
