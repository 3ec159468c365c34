import { create, equals } from "@bufbuild/protobuf";
import { reportAnswerPieces } from "../binding/grpc/internals/answer-pieces.js";
import type { Connection } from "../client/connection.js";
import { CredentialsError } from "../client/connection.js";
import { Client } from "../client/node.js";
import type { Clock } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import { randomUuid } from "../protocol/id/random-uuid.js";
import type { Logger } from "../protocol/logger.js";
import { type AgentCard, AgentCardSchema, GetTaskRequestSchema } from "../protocol/model.js";
import { parseVersion } from "../protocol/service-parameters.js";
import { defaultRefreshMs, type GatewayOptions } from "./options.js";

/** The upstream agent. */
export interface Upstream {
  readonly client: Client;
  /** The latest card. */
  readonly card: AgentCard;
  readonly connection: Connection | undefined;
  /** Version used with the agent; `undefined` while it is undecided. */
  readonly version: string | undefined;
  /** Called whenever `card` or `version` changes. */
  onChange: () => void;
  /** A call got no answer from the agent: the card may have changed. */
  refreshIfStale(): void;
  close(): Promise<void>;
}

export interface UpstreamSetting {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Failures this soon after the card was read do not cause another read. */
const minRefreshMs = 5_000;
/** Time limit of the first answer. */
const probeTimeoutMs = 10_000;

/**
 * Reads the agent's card and probes it with a harmless GetTask, so that a gateway never starts without its agent.
 * Throws like a client that finds no agent.
 */
export async function connectUpstream(options: GatewayOptions, { clock, logger }: UpstreamSetting): Promise<Upstream> {
  const { upstream: address, client: clientOptions = {}, refreshMs = defaultRefreshMs } = options;
  let notifyChange = noop;
  const onConnection = (connection: Connection): void => {
    logger.info({ connection }, "the agent behind the gateway is reached");
    clientOptions.onConnection?.(connection);
    notifyChange();
  };
  // Different callers may use the same message ids, so each must request idempotent sends itself.
  const client = await Client.connect(address, {
    logger,
    ...clientOptions,
    onConnection,
    extendedCard: false,
    sendOnce: false,
  });
  const refresher = createRefresher(client, { clock, logger, refreshMs, onChange: () => notifyChange() });
  try {
    await probeAgent(client);
  } catch (error) {
    await client.close();
    throw error;
  }
  refresher.start();
  const stopReports = reportAnswerPieces();
  return {
    client,
    get card() {
      return client.card;
    },
    get connection() {
      return client.connection;
    },
    get version() {
      return findVersion(client);
    },
    get onChange() {
      return notifyChange;
    },
    set onChange(listener) {
      notifyChange = listener;
    },
    refreshIfStale: refresher.refreshIfStale,
    async close() {
      refresher.stop();
      stopReports();
      await client.close();
    },
  };
}

// Any answer about a missing task shows that the agent is there.
async function probeAgent({ operations }: Client): Promise<void> {
  try {
    await operations.getTask(create(GetTaskRequestSchema, { id: randomUuid() }), { timeoutMs: probeTimeoutMs });
  } catch (error) {
    const isSilence = error instanceof A2AError && (error.code === "deadlineExceeded" || error.code === "unavailable");
    const isOurs =
      error instanceof ConnectionError || error instanceof CredentialsError || !(error instanceof A2AError);
    if (isSilence || isOurs) throw error;
  }
}

// Until the agent has answered, the card decides if all its interfaces have the same version.
function findVersion({ connection, card }: Client): string | undefined {
  if (connection !== undefined) return parseVersion(connection.version);
  const versions = new Set(card.supportedInterfaces.map(({ protocolVersion }) => parseVersion(protocolVersion)));
  const [version] = versions;
  return versions.size === 1 ? version : undefined;
}

interface Refresher {
  start(): void;
  stop(): void;
  refreshIfStale(): void;
}

interface RefresherSetting extends UpstreamSetting {
  readonly refreshMs: number;
  readonly onChange: () => void;
}

/** Reads the card again periodically, and keeps the old one when that fails. */
function createRefresher(client: Client, { clock, logger, refreshMs, onChange }: RefresherSetting): Refresher {
  let timer = noop;
  let readAt = clock.now();
  let isReading = false;
  let isStopped = false;
  const read = async (): Promise<void> => {
    if (isReading || isStopped) return;
    isReading = true;
    const before = client.card;
    try {
      const card = await client.refreshCard();
      if (!equals(AgentCardSchema, before, card)) onChange();
    } catch (error) {
      if (!isStopped) logger.warn({ err: error }, "the card of the agent behind the gateway could not be read again");
    } finally {
      isReading = false;
      readAt = clock.now();
    }
  };
  const wait = (): void => {
    if (refreshMs === 0 || isStopped) return;
    timer = clock.after(refreshMs, () => void read().then(wait));
  };
  return {
    start: wait,
    stop() {
      isStopped = true;
      timer();
    },
    refreshIfStale() {
      if (clock.now() - readAt >= minRefreshMs) void read();
    },
  };
}
