import { status as codes, Metadata, ServerInterceptingCall } from "@grpc/grpc-js";

// What an agent does that demands a token or a key: middleware for HTTP, an interceptor for gRPC, and members of the card.

export const security = {
  securitySchemes: {
    token: { httpAuthSecurityScheme: { scheme: "Bearer" } },
    key: { apiKeySecurityScheme: { location: "header", name: "X-Api-Key" } },
  },
  securityRequirements: [{ schemes: { token: { list: ["read"] } } }, { schemes: { key: {} } }],
};

/** The same as cards before 1.0 say it. */
export const securityBefore = {
  0.3: {
    securitySchemes: {
      token: { type: "http", scheme: "Bearer" },
      key: { type: "apiKey", in: "header", name: "X-Api-Key" },
    },
    security: [{ token: [] }, { key: [] }],
  },
  0.1: {
    authentication: {
      schemes: ["Bearer", "ApiKey"],
      credentials: JSON.stringify({ in: "header", name: "X-Api-Key" }),
    },
  },
};

export function overHttp({ token, key }) {
  return ({ headers }, response, next) => {
    if (headers.authorization === `Bearer ${token}` || headers["x-api-key"] === key) return next();
    response.status(401).set("WWW-Authenticate", "Bearer").json({ error: "unauthenticated" });
  };
}

export function overGrpc({ token, key }) {
  return (_, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, pass) {
            const given = (name) => metadata.get(name)[0];
            if (given("authorization") === `Bearer ${token}` || given("x-api-key") === key) return pass(metadata);
            call.sendStatus({ code: codes.UNAUTHENTICATED, details: "unauthenticated", metadata: new Metadata() });
          },
        }),
    });
}
