// callgate asks about opencode's own tools. Written by "callgate connect"; "callgate disconnect" removes it.
import { spawn } from "node:child_process"

const command = $COMMAND

const ask = (message) =>
  new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    let out = "", err = ""
    child.stdout.on("data", (d) => (out += d))
    child.stderr.on("data", (d) => (err += d))
    child.on("error", (e) => resolve({ code: -1, out: "", err: String(e) }))
    child.on("close", (code) => resolve({ code, out, err }))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(message))
  })

const told = new Set()

export const Callgate = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const r = await ask({ event: "before", session: input.sessionID, call: input.callID, tool: input.tool, args: output.args, directory })
    let answer = {}
    try {
      answer = JSON.parse(r.out)
    } catch {}
    if (r.code !== 0 || answer.decision !== "allow") throw new Error(answer.reason || r.err.trim() || "callgate did not answer, so the call does not run")
  },
  "tool.execute.after": async (input, output) => {
    await ask({ event: "after", session: input.sessionID, call: input.callID, tool: input.tool, args: input.args, output: output?.output, directory })
  },
  "chat.message": async (input, output) => {
    const prompt = (output?.parts || []).filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
    await ask({ event: "prompt", session: input.sessionID, prompt, directory })
  },
  event: async ({ event }) => {
    const p = event.properties || {}
    const part = event.type === "message.part.updated" && p.part
    if (part && part.type === "tool" && part.state?.status === "completed" && !told.has(part.callID)) {
      told.add(part.callID)
      ask({ event: "told", session: part.sessionID, call: part.callID, tool: part.tool, args: part.state.input, directory }) // nobody waits for it
    }
    if (event.type === "session.created") await ask({ event: "start", session: p.info?.id, version: p.info?.version, directory })
    if (event.type === "session.idle") await ask({ event: "idle", session: p.sessionID, directory })
    if (event.type === "session.deleted") await ask({ event: "end", session: p.info?.id, directory })
  },
})
