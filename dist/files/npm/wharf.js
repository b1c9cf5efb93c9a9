#!/usr/bin/env node
// Runs the program in the package of this platform, which npm chose by "os", "cpu" and "libc".
"use strict";

const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");
const { name, version, optionalDependencies } = require("../package.json");

const fail = (what, hint) => {
  process.stderr.write(`error: failed to start Wharf: ${what}\nhint: ${hint}\n`);
  process.exit(2);
};

// Programs for musl are static, and run on glibc too.
const libcs = () => (process.report.getReport().header.glibcVersionRuntime ? ["-gnu", "-musl"] : ["-musl"]);
const platform = `${process.platform}-${process.arch}`;
const packages = (process.platform === "linux" ? libcs() : [""])
  .map((libc) => `${name}-${platform}${libc}`)
  .filter((wanted) => wanted in optionalDependencies);
if (!packages.length) fail(`there is no build for ${platform}`, "build it from source: cargo install --locked wharf-mcp");

let program;
for (const wanted of packages) {
  try {
    program ??= require.resolve(`${wanted}/bin/wharf${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    // Not installed.
  }
}
if (!program) {
  fail(
    `its program for ${platform} is not installed`,
    `npm leaves it out with --omit=optional, or if node_modules is of another system; install it: npm install ${packages[0]}@${version}`,
  );
}

const args = process.argv.slice(2);
if (process.execve && process.platform !== "win32") {
  // The program takes the place of Node, which then needs no memory while it serves.
  process.execve(program, [program, ...args]);
}

// Before the program starts, which may answer, and so be ended, before this continues.
// A terminal sends its signals to both.
const terminal = [0, 1, 2].some((stream) => isatty(stream));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || !terminal) child.kill(signal);
  });
}
const child = spawn(program, args, { stdio: "inherit" });
child.on("error", (error) => fail(error.message, `install it again: npm install ${packages[0]}@${version}`));
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
