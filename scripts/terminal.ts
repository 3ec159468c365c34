/**
 * Makes `docs/pictures/terminal.svg`: an agent is killed in the middle of a stream, and its caller gets the rest.
 *
 *     node scripts/terminal.ts [--check | --record]
 *
 * Without arguments the picture is made of the recording `terminal.jsonl` beside it. With `--check` nothing is written, and it leaves
 * with 1 when the picture is not what the recording says. With `--record` it first makes a new recording: it types the commands into
 * three real shells, in `examples/durable` of the built package, and writes down what their terminals print, and when.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { columns, type Output, picture } from "./terminal-svg.ts";

const recordingFile = new URL("../docs/pictures/terminal.jsonl", import.meta.url);
const port = 41241;
const pictureFile = new URL("../docs/pictures/terminal.svg", import.meta.url);

if (process.argv.includes("--record")) {
  const lines = (await record()).map(({ seconds, pane, text }) => JSON.stringify([seconds, pane, text]));
  writeFileSync(recordingFile, `${lines.join("\n")}\n`);
}
const svg = picture(readFileSync(recordingFile, "utf8").trim().split("\n").map(outputOf));
if (!process.argv.includes("--check")) writeFileSync(pictureFile, svg);
else if (readFileSync(pictureFile, "utf8") !== svg) {
  process.stderr.write("docs/pictures/terminal.jsonl has changed: run npm run pictures\n");
  process.exitCode = 1;
}

function outputOf(line: string): Output {
  const [seconds, pane, text] = JSON.parse(line) as [number, Output["pane"], string];
  return { seconds, pane, text };
}

async function record(): Promise<readonly Output[]> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-terminal-"));
  const settings = join(folder, "settings.sh");
  writeFileSync(
    settings,
    `PS1='$ '; export PORT=${port} LEASE_MS=2000 TRIVIUM_LOG=warn STORE=${join(folder, "tasks.db")}\n`,
  );
  const began = performance.now();
  const outputs: Output[] = [];
  let isOver = false;
  const open = (pane: Output["pane"]): Terminal =>
    openTerminal(settings, (text) => {
      if (!isOver) outputs.push({ seconds: Math.round(performance.now() - began) / 1000, pane, text });
    });
  const [agent, operator, caller] = [open("agent"), open("operator"), open("caller")];
  try {
    for (const terminal of [agent, operator, caller]) await terminal.shows("$ ");
    await agent.types("node server.ts");
    await agent.shows(`:${port}`);
    await caller.types("node client.ts");
    await caller.shows("16:58");
    await operator.types(`kill -9 ${/Process (\d+)/.exec(agent.screen())?.[1]}`);
    await agent.shows("Killed");
    await pause(700);
    await agent.types("node server.ts");
    await caller.shows("15:00.");
    await caller.shows("$ ");
  } finally {
    isOver = true;
    await Promise.all([agent, operator, caller].map((each) => each.close()));
    rmSync(folder, { recursive: true });
  }
  return outputs;
}

/** A shell in a terminal of its own. */
interface Terminal {
  /** Types a line, and Enter. */
  types(line: string): Promise<void>;
  /** Resolves when the terminal has printed a text that it had not printed at the call before. */
  shows(text: string): Promise<void>;
  /** All that it has printed. */
  screen(): string;
  /** Ends what runs in it, and the shell. */
  close(): Promise<void>;
}

/** Opens a shell whose terminal `script` provides: Node has none of its own. */
function openTerminal(settings: string, print: (text: string) => void): Terminal {
  const shell = `stty cols ${columns}; exec bash --rcfile ${settings} --noediting -i`;
  const child = spawn("script", ["--quiet", "--flush", "--command", shell, "/dev/null"], {
    cwd: fileURLToPath(new URL("../examples/durable", import.meta.url)),
    env: {
      ...process.env,
      PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
      TERM: "xterm-256color",
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let all = "";
  let unread = "";
  let wake = (): void => {};
  const deadline = Date.now() + 60_000;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    print(text);
    all += text;
    unread += text;
    wake();
  });
  const shows = async (text: string): Promise<void> => {
    while (!unread.includes(text)) {
      await Promise.race([new Promise<void>((resolve) => (wake = resolve)), pause(1000)]);
      if (Date.now() > deadline) throw new Error(`the terminal did not show ${JSON.stringify(text)}: ${unread}`);
    }
    unread = unread.slice(unread.indexOf(text) + text.length);
  };
  return {
    shows,
    async types(line) {
      for (const key of `${line}\n`) {
        child.stdin.write(key);
        await pause(35);
      }
    },
    screen: () => all,
    async close() {
      const exit = once(child, "close");
      unread = "";
      child.stdin.write("\x03");
      await shows("$ ");
      child.stdin.write("exit\n");
      await exit;
    },
  };
}
