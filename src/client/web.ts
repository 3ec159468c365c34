import { v1 } from "../version/v1.0/v1.js";
import { createCardCache } from "./card-cache.js";
import { type Client as AnyClient, type ClientFactory, clientFactory } from "./connect.js";
import type { Platform } from "./platform.js";
import { webTransports } from "./transports.js";

const versions = [v1];

const platform: Platform = {
  versions,
  transports: webTransports(versions),
  cardCache: createCardCache(),
  // The browser decides which addresses a page may call.
  network: () => ({ fetch: (input, init) => fetch(input, init), close: async () => {} }),
};

/** A client for browsers and workers: JSON-RPC and HTTP+JSON, and Connect when a card asks for it. */
export const Client: ClientFactory = clientFactory(platform);
export type Client = AnyClient;
