// One story through a real client: a command that moves to the background is
// read, waited for, written to and stopped, and its record cleaned up; a call
// is cancelled; an answer of 1 MB; 50 calls at once; the end by closing.
//
//     node story.mjs CLIENT SERVER [ARGUMENT...]
//
// CLIENT is v1 (@modelcontextprotocol/sdk) or v2 (@modelcontextprotocol/client,
// negotiating the newest version). Both validate every answer's structured
// content against the tool's output schema. YIELDSHELL_STORY=windows tells the
// commands of Windows' shell.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const clients = { v1: connectV1, v2: connectV2 };
const [kind, command, ...args] = process.argv.slice(2);
const say = (text) => console.log(`  ${kind}: ${text}`);

const million = 1_048_576;
const settings = {
	YIELDSHELL_MAX_OUTPUT_BYTES: String(2 * million),
	YIELDSHELL_MAX_BUFFER_BYTES: String(4 * million),
};

// What the story runs. A marker is a number that no other command line holds.
const marker = String(86_400_000 + process.pid);
const folder = mkdtempSync(join(tmpdir(), "story-"));
const large = join(folder, "large");
writeFileSync(large, "x".repeat(million));
process.on("exit", () => rmSync(folder, { recursive: true }));
const shells = {
	posix: {
		sleep: `echo ready; exec sleep ${marker}`,
		echoes: "while read -r line; do echo \"got $line\"; done; echo end",
		prints: `cat ${large}`,
		ended: "SIGTERM",
	},
	windows: {
		sleep: `echo ready& ping -n ${marker} 127.0.0.1 >nul`,
		echoes: "cmd /v:on /c \"set /p line=& echo got !line!& set line=& set /p line=& echo end\"",
		prints: `type Z:${large.replaceAll("/", "\\")}`, // as Wine names it
	},
};
const shell = shells[process.env.YIELDSHELL_STORY ?? "posix"];
const nl = shell === shells.windows ? "\r\n" : "\n";

async function connectV1(transportOptions) {
	const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
	const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
	const client = new Client({ name: "story", version: "1" });
	const transport = new StdioClientTransport(transportOptions);
	let version;
	transport.setProtocolVersion = (v) => (version = v);
	await client.connect(transport);
	return {
		version: () => version,
		pid: transport.pid,
		list: () => client.listTools(),
		call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
		close: () => client.close(),
		wants: "2025-11-25",
	};
}

async function connectV2(transportOptions) {
	const { Client } = await import("@modelcontextprotocol/client");
	const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
	const client = new Client({ name: "story", version: "1" }, { versionNegotiation: { mode: "auto" } });
	const transport = new StdioClientTransport(transportOptions);
	await client.connect(transport);
	return {
		version: () => client.getNegotiatedProtocolVersion(),
		pid: transport.pid,
		list: () => client.listTools(),
		call: (name, args, options) => client.callTool({ name, arguments: args }, options),
		close: () => client.close(),
		wants: "2026-07-28",
	};
}

// The processes whose command line holds the text.
function processes(text) {
	return readdirSync("/proc").filter((pid) => {
		if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
		try {
			return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text) && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
		} catch {
			return false; // it has ended
		}
	});
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Nothing announces the end of a stranger's process.
async function until(what, holds, bound = 10_000) {
	for (const end = Date.now() + bound; !(await holds()); await pause(20)) {
		assert(Date.now() < end, `${what}: not within ${bound} ms`);
	}
}

const connected = await clients[kind]({
	command,
	args,
	stderr: "inherit",
	env: { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/YIELDSHELL/.test(name))), ...settings },
});
const { call } = connected;

// use calls a tool and checks what holds for every answer.
async function use(name, args, options) {
	const result = await call(name, args, options);
	assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, "text and structured content");
	return { ...result.structuredContent, isError: result.isError ?? false };
}
const execute = (command, more = {}, options) => use("execute", { command, side_effects: ["NONE"], ...more }, options);

assert.equal(connected.version(), connected.wants);
const tools = (await connected.list()).tools.map((tool) => tool.name);
for (const name of ["cleanup", "execute", "ps", "read", "stop", "wait", "write"]) assert(tools.includes(name), name);
say(`protocol ${connected.version()}, ${tools.length} tools`);

// The life of an execution.
{
	const quick = await execute("echo hello");
	assert.deepEqual([quick.status, quick.exit_code, quick.stdout], ["completed", 0, `hello${nl}`]);

	const told = [];
	const started = await execute(shell.sleep, { yield_ms: 1500 }, { onprogress: (p) => told.push(p.message) });
	assert.equal(started.status, "backgrounded");
	assert.equal(started.stdout, `ready${nl}`);
	assert.equal(told.length, 1, "one report of progress in 1.5 s");
	assert.match(told[0], /^1 s, [67] bytes of output: ready$/);
	const execution_id = started.execution_id;
	const again = await use("read", { execution_id, since_seq: 1 });
	assert.equal(again.stdout, `ready${nl}`);
	const waited = await use("wait", { execution_id, timeout_ms: 50 });
	assert.deepEqual([waited.wait_result, waited.stdout], ["deadline_reached", ""]);
	const stopped = await use("stop", { execution_id });
	assert.deepEqual([stopped.stopped, stopped.error], [true, null]);
	assert.equal((await use("wait", { execution_id })).status, "stopped");
	if (shell.ended) assert.equal((await use("read", { execution_id })).signal, shell.ended);
	await until("the stopped command's end", () => processes(marker).length === 0);

	const talk = await execute(shell.echoes, { close_stdin: false, yield_ms: 0 });
	const written = await use("write", { execution_id: talk.execution_id, input: "ping", newline: true });
	assert.deepEqual([written.ok, written.error], [true, null]);
	let heard = "";
	await until("the answer", async () => (heard += (await use("wait", { execution_id: talk.execution_id, timeout_ms: 100 })).stdout).includes("got ping"));
	assert((await use("write", { execution_id: talk.execution_id, input: "", close_stdin: true })).ok);
	const end = await use("wait", { execution_id: talk.execution_id });
	assert.equal(end.wait_result, "exited");
	assert.match(heard + end.stdout, /got ping\r?\nend\r?\n$/);

	const rows = (await use("ps", {})).executions;
	assert.equal(rows.length, 3);
	assert(rows.every((row) => row.status !== "running"));
	assert.equal((await use("cleanup", { completed_older_than_ms: 0, stopped_older_than_ms: 0 })).removed, 3);
	const gone = await use("read", { execution_id });
	assert.deepEqual([gone.isError, gone.error], [true, `Unknown execution_id: ${execution_id}`]);
	say("execute, background, progress, read, wait, stop, write, ps, cleanup");
}

// What tools refuse is an answer that fits the schema.
for (const [name, args] of [
	["execute", { command: "echo", side_effects: ["NOPE"] }],
	["execute", { command: "echo", side_effects: ["RUNS_INLINE_CODE"] }],
	["execute", {}],
	["read", { execution_id: "nope" }],
	["read", {}],
	["wait", { execution_id: "nope" }],
	["write", { execution_id: "nope", input: "" }],
	["stop", { execution_id: "nope" }],
	["stop", { execution_id: "nope", signal: "SIGNOPE" }],
	["ps", { limit: "many" }],
	["cleanup", { completed_older_than_ms: -1 }],
]) {
	const refused = await use(name, args);
	assert(refused.isError && refused.error, `${name} ${JSON.stringify(args)}`);
}
say("refusals validate against the output schemas");

// Cancellation: the call ends, the command does not.
{
	const controller = new AbortController();
	const cancelled = execute(shell.sleep, { name: "cancelled" }, { signal: controller.signal });
	const find = async () => (await use("ps", {})).executions.find((row) => row.name === "cancelled" && row.latest_seq > 1);
	await until("the command's start", async () => (await find()) !== undefined);
	const begun = performance.now();
	controller.abort();
	await assert.rejects(cancelled);
	const row = await find();
	say(`a cancelled call: the next answer ${(performance.now() - begun).toFixed(1)} ms later`);
	assert.equal(row.status, "running");
	assert.equal((await use("read", { execution_id: row.execution_id, streams: "stdout" })).stdout, `ready${nl}`);
	assert((await use("stop", { execution_id: row.execution_id })).stopped);
}

// An answer of 1 MB.
{
	const begun = performance.now();
	const answer = await execute(shell.prints);
	assert.equal(answer.status, "completed");
	assert.equal(answer.stdout.length, million);
	assert.equal(answer.capped, false);
	say(`an answer of 1 MB in ${(performance.now() - begun).toFixed(0)} ms`);
}

// 50 calls at once.
{
	const begun = performance.now();
	const all = await Promise.all(Array.from({ length: 50 }, (_, i) => execute(`echo number ${i}`)));
	all.forEach((result, i) => assert.deepEqual([result.status, result.stdout], ["completed", `number ${i}${nl}`]));
	say(`50 calls at once in ${(performance.now() - begun).toFixed(0)} ms`);
}

// The end: the client closes the server's stdin, and gives it 2 s to end by
// itself before it sends signals. A command that runs ends with it.
{
	await execute(shell.sleep, { yield_ms: 300 });
	assert(processes(marker).length > 0);
	const begun = performance.now();
	await connected.close();
	const took = performance.now() - begun;
	assert(took < 1900, `the server took ${took} ms to end`);
	await until("the end of what it ran", () => processes(marker).length === 0, 5000);
	assert.throws(() => process.kill(connected.pid, 0), "the server's process is left");
	say(`closed in ${took.toFixed(0)} ms, no process left`);
}
