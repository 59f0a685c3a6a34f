# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""One Chromium without a screen, driven over a pipe in its DevTools protocol:
https://chromedevtools.github.io/devtools-protocol/"""
import base64
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time

TIMEOUT = 120


def find():
    """Debian calls it chromium; None: there is none."""
    return next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)


def file_url(path, fragment=""):
    if path.startswith("http://"):
        return path + fragment
    return "file://" + "".join(c if re.match(r"[\w./-]", c) else "%%%02x" % ord(c)
                               for c in os.path.abspath(path)) + fragment


class Browser:
    def __init__(self, width=1400, height=900):
        self.profile = tempfile.mkdtemp(prefix="ebpfrec-browser.")
        to_read, self.to = os.pipe()
        self.out, out_write = os.pipe()
        for fd in (to_read, out_write):
            os.set_inheritable(fd, True)
        # Chromium reads commands from descriptor 3 and answers on descriptor 4
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_read, out_write), "bash", find(), "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--remote-debugging-pipe",
             "--hide-scrollbars", "--user-data-dir=" + self.profile, "--window-size=%d,%d" % (width, height),
             "about:blank"],
            pass_fds=(to_read, out_write), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_read)
        os.close(out_write)
        self.rest, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def message(self):
        until = time.monotonic() + TIMEOUT
        while b"\0" not in self.rest:
            if not select.select([self.out], [], [], max(0, until - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            data = os.read(self.out, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.rest += data
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            m = self.message()
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError("%s: %s" % (method, m["error"]["message"]))
                return m["result"]

    def evaluate(self, script):
        """The value of an expression; a promise is waited for."""
        r = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(str(r["exceptionDetails"].get("exception", r["exceptionDetails"]))[:400])
        return r["result"].get("value")

    def open(self, path, fragment=""):
        """A page from its file, or its address, from the beginning, until it is loaded."""
        for url in ("about:blank", file_url(path, fragment)):
            self.call("Page.navigate", url=url)
            self.wait("document.readyState === 'complete' && (location.protocol === 'about:') === %s" %
                      str(url == "about:blank").lower())

    def wait(self, condition, seconds=60):
        """Until a condition holds. Returns its last value."""
        until = time.monotonic() + seconds
        while True:
            value = self.evaluate(condition)
            if value or time.monotonic() > until:
                return value
            time.sleep(0.02)

    def mouse(self, x, y, to=None):
        """A click; or a drag, to another place."""
        at = to or (x, y)
        for kind, (px, py), held in [("mouseMoved", (x, y), 0), ("mousePressed", (x, y), 1), ("mouseMoved", at, 1),
                                     ("mouseReleased", at, 0)]:
            self.call("Input.dispatchMouseEvent", type=kind, x=px, y=py, button="none" if kind == "mouseMoved"
                      and not held else "left", buttons=held, clickCount=1)

    def click(self, what, part=(0.5, 0.5)):
        """Clicks on an element, which an expression finds and which is scrolled to, at a part of its width and
        height, once it stands still."""
        place = ("(() => { const e = %s; e.scrollIntoView({ block: 'center' }); const r = e.getBoundingClientRect(); "
                 "return [r.left, r.top, r.width, r.height]; })()" % what)
        seen = None
        while seen != (now := self.evaluate(place)):
            seen = now
            time.sleep(0.1)
        self.mouse(seen[0] + seen[2] * part[0], seen[1] + seen[3] * part[1])

    def key(self, key):
        """Presses a key: "Tab", "Enter", "ArrowLeft", "a"."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                "ArrowDown": 40}.get(key, ord(key[0].upper()))
        text = {"text": "\r" if key == "Enter" else key} if key == "Enter" or len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def document(self):
        return self.evaluate("document.documentElement.outerHTML")

    def screenshot(self, path, width, height, dark=False, whole=False):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        # charts follow the size in the next frames
        self.evaluate("new Promise((done) => setTimeout(done, 400))")
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=bool(whole))["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
