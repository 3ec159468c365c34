import type { AgentCard, Server } from "trivium";

type AgentInterface = AgentCard["supportedInterfaces"][number];

/** The agent's address, the place of its tasks, and a command to copy for each binding. */
export function greeting({ card, url }: Server, storage: string): string {
  // The same URLs serve older versions too.
  const [newest] = card.supportedInterfaces;
  const interfaces = card.supportedInterfaces.filter((each) => each.protocolVersion === newest?.protocolVersion);
  const lines = interfaces.map(({ protocolBinding, url: address }) => `  ${protocolBinding.padEnd(10)} ${address}`);
  const commands = interfaces.flatMap((each) => commandTable[each.protocolBinding]?.(each) ?? []);
  return [
    `${card.name} ${card.version} listens.`,
    "",
    `  ${"card".padEnd(10)} ${url}/.well-known/agent-card.json`,
    ...lines,
    "",
    storage,
    "",
    "Try it from the folder of this project:",
    ...commands.map((command) => `\n  ${command}`),
    "\n",
  ].join("\n");
}

/** A command to copy for each binding, by its name on the card. */
const commandTable: Readonly<Record<string, (address: AgentInterface) => string>> = {
  JSONRPC: (address) =>
    curl("-s", address, "", {
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: messageOf({ text: "The quick brown fox jumps over the lazy dog. It does so every day." }),
    }),
  "HTTP+JSON": (address) =>
    curl(
      "-sN",
      address,
      "/message:stream",
      messageOf({ text: "city,people\nOslo,709000\nBergen,", mediaType: "text/csv" }),
    ),
  GRPC: ({ url }) => {
    // The command gives each message an id of its own.
    const request = { message: { parts: [{ data: [{ city: "Oslo", people: 709_000 }, { city: "Bergen" }] }] } };
    return `npx trivium call '${url}' SendStreamingMessage '${JSON.stringify(request)}'`;
  },
};

/** Stands for the id of a message. Every POSIX shell makes another one each time that a command is run. */
const newId = "NEW-ID";
const newIdInShell = `'$(date +%s)-$$'`;

function messageOf(part: object): object {
  return { message: { messageId: newId, role: "ROLE_USER", parts: [part] } };
}

function curl(flags: string, { url, protocolVersion }: AgentInterface, path: string, body: object): string {
  const headers = `-H 'Content-Type: application/json' -H 'a2a-version: ${protocolVersion}'`;
  return `curl ${flags} '${url}${path}' ${headers} -d '${JSON.stringify(body).replace(newId, () => newIdInShell)}'`;
}
