#!/usr/bin/env node
// Runs the callgate of this system, which npm installed beside this package.
const { spawn } = require("node:child_process")

const name = `callgate-${process.platform}-${process.arch}`
let program
try {
  program = require.resolve(`${name}/callgate${process.platform === "win32" ? ".exe" : ""}`)
} catch {
  console.error(`callgate: the package ${name} is not installed. Install callgate without --omit=optional; if npm has no such package, there is no callgate for this system.`)
  process.exit(1)
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" })
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
child.on("error", (e) => {
  console.error(`callgate: ${e.message}`)
  process.exit(1)
})
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  } else process.exit(code)
})
