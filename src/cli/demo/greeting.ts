import { cardPaths } from "../../card/endpoint.js";
import { bindingTable } from "../../card/mounts.js";
import type { AgentInterface } from "../../protocol/model.js";
import { operationOf } from "../../protocol/operations.js";
import { versionParameter } from "../../protocol/service-parameters.js";
import type { Server } from "../../server/serve.js";
import { placeText, type StorePlace } from "../store-place.js";

/** Where the agent is, where it keeps its tasks, and a command to copy for each binding. */
export function greeting({ card, url }: Server, place: StorePlace): string {
  // The same places answer older versions too.
  const [newest] = card.supportedInterfaces;
  const interfaces = card.supportedInterfaces.filter((each) => each.protocolVersion === newest?.protocolVersion);
  const lines = interfaces.map(({ protocolBinding, url: address }) => `  ${protocolBinding.padEnd(10)} ${address}`);
  const commands = interfaces.flatMap((each) => commandTable[each.protocolBinding]?.(each) ?? []);
  return [
    `${card.name} ${card.version} listens.`,
    "",
    `  ${"card".padEnd(10)} ${url}${cardPaths[0]}`,
    ...lines,
    "",
    keptText(place),
    "",
    "Try it from the folder of this project:",
    ...commands.map((command) => `\n  ${command}`),
    "\n",
  ].join("\n");
}

function keptText(place: StorePlace): string {
  if (place.kind === "memory") return "Tasks are kept in memory and end with this process.";
  return `Tasks are kept in ${placeText(place)} and are there again after a restart.`;
}

/** A command to copy for each binding, by the wire's word for it. */
const commandTable: Readonly<Record<string, (place: AgentInterface) => string>> = {
  [bindingTable["json-rpc"].wire]: (place) =>
    curl("-s", place, "", {
      jsonrpc: "2.0",
      id: 1,
      method: operationOf("sendMessage").method,
      params: messageOf({ text: "The quick brown fox jumps over the lazy dog. It does so every day." }),
    }),
  [bindingTable["http-json"].wire]: (place) =>
    curl(
      "-sN",
      place,
      "/message:stream",
      messageOf({ text: "city,people\nOslo,709000\nBergen,", mediaType: "text/csv" }),
    ),
  [bindingTable.grpc.wire]: ({ url }) => {
    const request = messageOf({ data: [{ city: "Oslo", people: 709_000 }, { city: "Bergen" }] });
    return `npx trivium call '${url}' ${operationOf("sendStreamingMessage").method} '${JSON.stringify(request)}'`;
  },
};

function messageOf(part: object): object {
  return { message: { messageId: "1", role: "ROLE_USER", parts: [part] } };
}

function curl(flags: string, { url, protocolVersion }: AgentInterface, path: string, body: object): string {
  const headers = `-H 'Content-Type: application/json' -H '${versionParameter}: ${protocolVersion}'`;
  return `curl ${flags} '${url}${path}' ${headers} -d '${JSON.stringify(body)}'`;
}
