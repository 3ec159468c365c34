import { Server, ServerCredentials } from "@grpc/grpc-js";
import { DefaultRequestHandler, InMemoryTaskStore } from "sdk-0.3/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "sdk-0.3/server/express";
import { A2AService, grpcService } from "sdk-0.3/server/grpc";
import { Script } from "./script.mjs";

export async function mount(app, base, { security, interceptors = [] }) {
  const rpc = new Server({ interceptors });
  const rpcPort = await new Promise((resolve, reject) => {
    rpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
  const card = { ...cardOf(base, rpcPort), ...security };
  const inner = { id: "inner", name: "Inner", description: "For callers who ask", tags: ["test"] };
  const extended = async () => ({ ...card, skills: [...card.skills, inner] });
  const store = new InMemoryTaskStore();
  const requestHandler = new DefaultRequestHandler(
    card,
    store,
    new Script(),
    undefined,
    undefined,
    undefined,
    extended,
  );
  const end = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler(end));
  app.use("/rest", restHandler(end));
  rpc.addService(A2AService, grpcService(end));
}

function cardOf(base, rpcPort) {
  return {
    protocolVersion: "0.3.0",
    name: "JavaScript",
    description: "Plays the script that the first text names",
    version: "1.2.3",
    url: `${base}/rpc`,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { transport: "JSONRPC", url: `${base}/rpc` },
      { transport: "HTTP+JSON", url: `${base}/rest` },
      { transport: "GRPC", url: `127.0.0.1:${rpcPort}` },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "script", name: "Script", description: "Plays a script", tags: ["test"] }],
    supportsAuthenticatedExtendedCard: true,
  };
}
