import type { ConnectOptions } from "../../client/options.js";
import { createSecretPolicy } from "../../client/secret-policy.js";
import type { AgentCard, AgentInterface } from "../../protocol/model.js";

/** The options for one interface of a card, which may name any server. */
export interface InterfaceOptions {
  readonly options: ConnectOptions;
  /** Why the interface gets no secrets; `undefined` if it gets them. */
  readonly withholdReason: string | undefined;
}

/** Options without secrets, unless the interface is at the host of the card or at a trusted origin. */
export function interfaceOptions(
  { url: cardUrl, card, options }: { readonly url: string; readonly card: AgentCard; readonly options: ConnectOptions },
  { protocolBinding: binding, url }: AgentInterface,
): InterfaceOptions {
  const { credentials: _, headers: __, ...withoutSecrets } = options;
  const { trustedOrigins, grpcTls: secure = true } = options;
  const place = createSecretPolicy({ card, firstCard: card, cardUrl, binding, url, secure, trustedOrigins });
  const withholdReason = place.noHeaders(["authorization"]);
  return { options: withholdReason === undefined ? options : withoutSecrets, withholdReason };
}
