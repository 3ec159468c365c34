import { isIPv6 } from "node:net";
import {
  Channel,
  type ChannelCredentials,
  type ChannelInterface,
  type ChannelOptions,
  connectivityState,
  credentials,
} from "@grpc/grpc-js";
import { callerClock } from "../../protocol/async/clock.js";
import { ConnectionError, readErrorMessage } from "../../protocol/errors.js";
import { type AddressPolicy, allowedAddresses, ForbiddenAddressError, type Lookup } from "../fetch/address-policy.js";
import type { ClientTls } from "../fetch/client-tls.js";
import { type OwnSockets, trackSockets } from "./internals/own-sockets.js";

// The connection to one agent. grpc-js connects by itself, never gives up, and resolves names by itself; so a channel is
// opened here for each target in turn, at addresses that the policy allows, each with a share of the time for
// connecting. The first that is ready is kept for all calls until it is lost or dropped. A call that finds none waits
// for the one attempt that is under way.

export interface ChannelManagerOptions {
  readonly address: string;
  readonly credentials: ChannelCredentials;
  readonly settings: ChannelOptions;
  readonly connectTimeoutMs: number;
  readonly policy?: AddressPolicy | undefined;
  readonly lookup?: Lookup | undefined;
}

/** Manages the connection to one agent: connects when a call needs it, reconnects when it was lost. */
export class ChannelManager {
  readonly #options: ChannelManagerOptions;
  #channel: ChannelInterface | undefined;
  #connecting: Promise<ChannelInterface> | undefined;
  #sockets: OwnSockets | undefined;
  #closed = false;

  constructor(options: ChannelManagerOptions) {
    this.#options = options;
  }

  /**
   * Returns the channel for a call, or a promise if it is not connected yet. Rejects with a `ConnectionError` on
   * timeout. If the peer refuses the connection, it still resolves: calls on the channel then fail at once with the
   * reason.
   */
  take(): ChannelInterface | Promise<ChannelInterface> {
    const channel = this.#channel;
    if (channel?.getConnectivityState(false) === connectivityState.READY) return channel;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Discards a channel that failed to connect. */
  drop(channel: ChannelInterface): void {
    if (this.#channel === channel) this.#channel = undefined;
    channel.close();
  }

  /** Aborts attempts to connect. Running calls continue. */
  close(): void {
    this.#closed = true;
    this.#sockets?.destroy();
    this.#channel?.close();
  }

  async #connect(): Promise<ChannelInterface> {
    const until = Date.now() + this.#options.connectTimeoutMs;
    const sockets = trackSockets();
    this.#sockets = sockets;
    try {
      const targets = await this.#targets(until);
      for (const [index, connect] of targets.entries()) {
        const remaining = targets.length - index;
        const channel = this.#open(connect);
        const share = Date.now() + (until - Date.now()) / remaining;
        const state = await sockets.run(() => waitForState(channel, share));
        if (this.#closed) throw closedError();
        if (state === connectivityState.READY || (remaining === 1 && state !== undefined)) return channel;
        sockets.destroy();
        this.drop(channel);
      }
      throw this.#unreachable();
    } finally {
      sockets.forget();
      this.#sockets = undefined;
    }
  }

  async #targets(until: number): Promise<readonly ConnectTarget[]> {
    const { address, policy, lookup } = this.#options;
    if (policy === undefined) return [{ target: toTarget(address), options: {} }];
    const targets = allowedTargets(address, policy, lookup).catch((cause: unknown) => {
      if (cause instanceof ConnectionError) throw cause;
      throw new ConnectionError(`cannot reach ${address}: ${readErrorMessage(cause)}`, {
        cause,
        written: false,
        isFinal: cause instanceof Error && "code" in cause && cause.code === "ENOTFOUND",
      });
    });
    return withTimeout(until, targets, () => this.#unreachable());
  }

  #open({ target, options }: ConnectTarget): ChannelInterface {
    if (this.#closed) throw closedError();
    this.#channel?.close();
    this.#channel = new Channel(target, this.#options.credentials, { ...this.#options.settings, ...options });
    return this.#channel;
  }

  #unreachable(): ConnectionError {
    const { address, connectTimeoutMs } = this.#options;
    return new ConnectionError(`cannot reach ${address}: no connection within ${connectTimeoutMs} ms`, {
      written: false,
    });
  }
}

function closedError(): ConnectionError {
  return new ConnectionError("the connection is closed", { written: false });
}

/** Resolves with the state in which connecting ends, or `undefined` on timeout. */
function waitForState(channel: ChannelInterface, until: number): Promise<connectivityState | undefined> {
  return new Promise((resolve) => {
    const check = (): void => {
      const state = channel.getConnectivityState(false);
      if (state !== connectivityState.IDLE && state !== connectivityState.CONNECTING) return resolve(state);
      // Must not run on a closed channel: this call would connect it.
      channel.getConnectivityState(true);
      channel.watchConnectivityState(state, until, (timeoutError) =>
        timeoutError === undefined ? check() : resolve(undefined),
      );
    };
    check();
  });
}

async function withTimeout<T>(until: number, wait: Promise<T>, timeoutError: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = callerClock.after(until - Date.now(), () => reject(timeoutError()));
  try {
    return await Promise.race([wait, promise]);
  } finally {
    cancel();
  }
}

const schemes = /^(https?|grpcs?):\/\//i;

/** Returns the address for grpc-js. A card's interface is `host:port`; some peers write a URL. */
export function toTarget(address: string): string {
  const scheme = schemes.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined) return address;
  const authority = address.slice(scheme.length + 3).replace(/[/?#].*$/s, "");
  if (/:\d+$/.test(authority)) return authority;
  return `${authority}:${isSecure(address) ? 443 : 80}`;
}

export function createCredentials(address: string, tls: ClientTls | true | undefined): ChannelCredentials {
  if (tls === undefined && !isSecure(address)) return credentials.createInsecure();
  const { ca, key, cert } = tls === undefined || tls === true ? {} : tls;
  return credentials.createSsl(pem(ca), pem(key), pem(cert));
}

/** One target to connect to. */
interface ConnectTarget {
  readonly target: string;
  readonly options: ChannelOptions;
}

const hostAndPort = /^(\[[\da-f:.]+\]|[^:/?#@[\]]+)(?::(\d{1,5}))?$/i;

/**
 * Returns the agent's targets at addresses that the policy allows, one per address family. Throws
 * `ForbiddenAddressError`.
 */
export async function allowedTargets(
  address: string,
  policy: AddressPolicy,
  lookup?: Lookup,
): Promise<readonly ConnectTarget[]> {
  const resolver = /^(?:dns|ipv4|ipv6|unix|unix-abstract|xds|passthrough|vsock):(?!\d{1,5}$)/i.exec(address)?.[0];
  if (resolver !== undefined) {
    const accepted = "host:port, or a URL of http, https, grpc or grpcs";
    const message = `${address} needs gRPC's resolver ${resolver}, which is not supported (accepted: ${accepted})`;
    throw new ConnectionError(message, { written: false, isFinal: true });
  }
  const [authority, host = "", port = "443"] = hostAndPort.exec(toTarget(address)) ?? [];
  // grpc-js accepts other forms, such as Unix sockets.
  if (authority === undefined) throw new ForbiddenAddressError(address, policy);
  const addresses = await allowedAddresses(URL.parse(`http://${host}`)?.hostname ?? host, policy, lookup);
  const isLiteral = addresses.length === 1 && host.replace(/^\[|\]$/g, "") === addresses[0];
  const options = {
    "grpc.default_authority": authority,
    // A proxy would resolve the name itself.
    "grpc.enable_http_proxy": 0,
    // The name that the certificate must match.
    ...(isLiteral ? {} : { "grpc.ssl_target_name_override": host }),
  };
  const families = Map.groupBy(addresses, isIPv6);
  return [...families].map(([isSix, group]) => {
    const authorities = group.map((each) => (isSix ? `[${each}]:${port}` : `${each}:${port}`));
    return { target: `${isSix ? "ipv6" : "ipv4"}:${authorities.join(",")}`, options };
  });
}

function isSecure(address: string): boolean {
  return /^(https|grpcs):/i.test(address);
}

function pem(text: string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}
