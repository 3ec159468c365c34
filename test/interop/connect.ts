import { Client } from "../../src/client/node.js";
import type { BindingName } from "./cases.js";

// Some agents say nothing to a subscriber before something happens: the tests need not wait as long as users do.
const limits = { snapshotTimeoutMs: 1_000 };

/** Our client at an agent, over one binding and no other: what goes wrong there is not made good elsewhere. */
export async function connect(url: string, binding: BindingName): Promise<Client> {
  await using reader = await Client.connect(url);
  const supportedInterfaces = reader.card.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding === binding,
  );
  return Client.connect({ ...reader.card, supportedInterfaces }, { grpcTls: false, retry: false, limits });
}
