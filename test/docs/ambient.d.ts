// Names that the snippets of the documents use and do not declare: what their reader has. Keep them few.

// An agent and what belongs to it.
declare const card: import("trivium").CardOptions;
declare const agent: import("trivium").Agent;
declare const authenticate: import("trivium").Authenticate;
declare const store: import("trivium").Store;
declare const server: import("trivium").AgentServer;
declare const client: import("trivium").Client;
declare const contextId: string;
declare const upstream: string;
declare const response: { readonly body: ReadableStream<Uint8Array> };

// Programs of the reader.
declare const run: import("trivium").Agent;
declare const hangs: import("trivium").Agent;
declare const weatherCard: import("trivium").CardOptions;
declare const forecast: import("trivium").Agent;
declare const travelCard: import("trivium").CardOptions;
declare const plan: import("trivium").Agent;
declare const session: { token(options: { renew: boolean }): Promise<string> };
declare const grants: { has(owner: string): Promise<boolean>; exchange(owner: string, code: string): Promise<void> };
declare const callbacks: import("node:events").EventEmitter<{
  granted: [{ owner: string; taskId: string; code: string }];
}>;
declare function consentUrl(options: { state: string }): string;
declare function readCalendar(owner: string): Promise<string>;
declare const browserWindow: { visit(url: string): Promise<string> };
declare const userTokens: import("trivium").TokenStore;
declare const jobs: import("node:events").EventEmitter<{ done: [{ taskId: string; result: string }] }>;
declare function startJob(options: { callback: string }): Promise<void>;
declare function analyse(text: string, options?: { signal?: AbortSignal }): Promise<string>;
declare function presigned(key: string): Promise<string>;
declare function show(...text: unknown[]): void;
declare function verify(token: string | undefined): Promise<{ id: string; team: string }>;
declare function openStore(options?: { clock?: import("trivium").Clock }): Promise<import("trivium").TaskStore>;

// Packages and programs that the repository does not install.
declare module "winston";
declare const Bun: {
  serve(options: { port?: number; fetch(request: Request): Response | Promise<Response> }): unknown;
};
