import { Client } from "../../src/client/node.js";
import { clientsWith } from "../support/clients.js";
import type { BindingName } from "./cases.js";

// Some agents send a subscriber nothing until an event happens. Tests need not wait as long as users do.
const clients = clientsWith({ snapshotTimeoutMs: 1_000 });

/** Connects our client to an agent over exactly one binding, so that no other binding hides a fault. */
export async function connect(url: string, binding: BindingName): Promise<Client> {
  await using reader = await Client.connect(url);
  const supportedInterfaces = reader.card.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding === binding,
  );
  return clients.connect({ ...reader.card, supportedInterfaces }, { grpcTls: false, retry: false });
}
