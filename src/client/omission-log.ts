import type { ReportOmission } from "../protocol/codec/json/reading.js";
import type { Logger } from "../protocol/logger.js";
import type { AgentCard } from "../protocol/model.js";

/** How many members of an agent are logged. */
const membersMax = 16;

/** Logs each member that an agent's answers had to do without, once, whatever its place in a list. */
export function createOmissionLog(logger: Logger, card: AgentCard, cardUrl: string | undefined): ReportOmission {
  const agent = cardUrl ?? card.supportedInterfaces[0]?.url;
  const logged = new Set<string>();
  return (path, kind) => {
    const member = path.replace(/\[\d+\]/g, "[]");
    if (logged.size >= membersMax || logged.has(member)) return;
    logged.add(member);
    logger.debug({ agent, member, kind }, "a member of the agent's answers cannot be read and is left out");
  };
}
