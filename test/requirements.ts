// The specification's requirements on a server: every MUST and SHOULD of spec 9 that concerns agents, both sides, or
// bindings. The tests that show one cite its id in a comment above them: `// Requirements: V1-SEND-2, IOP-1`. Where
// something cannot be tested, the row says why.

/** One row of the table. */
export interface Requirement {
  readonly id: string;
  /** The level as the specification writes it: `MUST`, `should not`. */
  readonly level: string;
  readonly rule: string;
  /** Why no test shows it, or not all of it. */
  readonly because: readonly string[];
}

/** Numbers of the rows in each chapter, so that none gets lost. */
export const numbers: Readonly<Record<string, string>> = {
  GEN: "6",
  SEND: "2 4-7",
  EXEC: "1-4",
  HIST: "1 3-5",
  STREAM: "1-9 11-14 16",
  GET: "1-3",
  LIST: "1-10 12",
  CANCEL: "1-4",
  SUB: "1-6",
  PCFG: "1-8 10-11",
  PUSH: "1-6 8-9 18-19",
  EXTCARD: "2-4 7 9-11",
  SP: "1-8",
  VER: "3-7",
  ERR: "1-11 13-21 23-24",
  CAP: "1-2",
  CTX: "2 4-5 8 10-11",
  TID: "1-2 4-5",
  TURN: "3-4 6-10",
  MSG: "1-3",
  JSON: "1-3",
  TIME: "1-2 4-5",
  PRES: "1-5",
  PART: "1-3",
  EXT: "3-7 10-11 13",
  EQ: "1-4",
  SEL: "1",
  RPC: "2-5",
  GRPC: "1-3",
  HTTP: "1 7-10",
  CARD: "1-4 6-14",
  CACHE: "1-3",
  SIGN: "2-9",
  AUTH: "1-3 6",
  INTASK: "1-5 7 10-15",
  SEC: "1-2 4-9 11-19 21-29",
  BIND: "1-11",
};

const table = `
V1-GEN-6 MUST: every binding represents the data model with equivalent function

V1-SEND-2 MUST: reply holds task info or a message (exactly one)
V1-SEND-4 MUST: message to a terminal task → UnsupportedOperationError
V1-SEND-5 MUST: unknown or invisible taskId → TaskNotFoundError
V1-SEND-6 MUST: unsupported part media type → ContentTypeNotSupportedError
V1-SEND-7 SHOULD: output follows acceptedOutputModes
  because the agent's author decides: it reads turn.configuration.acceptedOutputModes

V1-EXEC-1 MUST: returnImmediately false/unset: wait for terminal or interrupted state
V1-EXEC-2 MUST: blocking reply has latest state, all artifacts, status
V1-EXEC-3 MUST: returnImmediately true: reply right after task creation
V1-EXEC-4 must: returnImmediately changes nothing for message replies, streams, webhooks

V1-HIST-1 MUST NOT: more messages than historyLength returned
V1-HIST-3 SHOULD: historyLength 0: history left out
V1-HIST-4 must: unset: no client limit, server default
V1-HIST-5 must: positive: the most recent messages

V1-STREAM-1 MUST: operation opens a stream
V1-STREAM-2 MUST: message answer: exactly one message, then close
V1-STREAM-3 MUST: task answer: first event is the task, then only update events
V1-STREAM-4 MUST: stream closes at a terminal state
V1-STREAM-5 MUST: immediate feedback on progress and intermediate results
V1-STREAM-6 MUST: no streaming capability → UnsupportedOperationError
V1-STREAM-7 MUST: terminal task → UnsupportedOperationError
V1-STREAM-8 MUST: events delivered in generation order
V1-STREAM-9 MUST NOT: events reordered in transmission, in any binding
V1-STREAM-11 MUST: every event goes to all active streams of the task
V1-STREAM-12 MUST: all streams get the same events in the same order
V1-STREAM-13 MUST NOT: closing one stream affects others
V1-STREAM-14 must: task lifecycle independent of streams
V1-STREAM-16 must: stream closes at terminal or interrupted state (conflicts with STREAM-4 reading, D-3)

V1-GET-1 MUST: unknown or invisible task → TaskNotFoundError
V1-GET-2 MUST: access of the caller checked
V1-GET-3 must: current status and artifacts returned, history per limit

V1-LIST-1 MUST: only tasks visible to the caller
V1-LIST-2 MUST: cursor pagination
V1-LIST-3 MUST: newest status timestamp first
V1-LIST-4 MUST: artifacts absent from every task unless includeArtifacts is true
V1-LIST-5 should: includeArtifacts true: artifacts present with real content, maybe empty
V1-LIST-6 MUST: nextPageToken always present
V1-LIST-7 MUST: nextPageToken is "" on the last page
V1-LIST-8 must: default page ≤ 50, pageSize between 1 and 100
V1-LIST-9 must: statusTimestampAfter inclusive
V1-LIST-10 MUST: tasks, pageSize, totalSize present
V1-LIST-12 MUST: out-of-range or unknown parameter values rejected

V1-CANCEL-1 MUST: not cancelable → TaskNotCancelableError
V1-CANCEL-2 MUST: unknown or invisible → TaskNotFoundError
V1-CANCEL-3 must: reply is the updated task
V1-CANCEL-4 must: repeated cancels have one effect

V1-SUB-1 MUST: first event is the task at subscription time
V1-SUB-2 MUST: stream ends at a terminal state
V1-SUB-3 MUST: terminal task → UnsupportedOperationError
V1-SUB-4 MUST: unknown or invisible → TaskNotFoundError
V1-SUB-5 MUST: no streaming capability → UnsupportedOperationError
V1-SUB-6 must: usable in every non-terminal state

V1-PCFG-1 MUST: no push capability: all four operations → PushNotificationNotSupportedError
V1-PCFG-2 MUST: Create starts webhook delivery for the task
V1-PCFG-3 MUST: config persists until task end or deletion
V1-PCFG-4 MUST: unknown task → TaskNotFoundError (all four)
V1-PCFG-5 must: Create returns the config with its id
V1-PCFG-6 MUST: Get returns URL and settings
V1-PCFG-7 MUST: Get fails when config missing or not accessible
V1-PCFG-8 MUST: List returns all active configs of the task
V1-PCFG-10 MUST: Delete removes permanently, calls stop
V1-PCFG-11 MUST: Delete is idempotent

V1-PUSH-1 MUST: credentials of authentication in the request headers
V1-PUSH-2 must: body is a StreamResponse with exactly one member
V1-PUSH-3 must: plain HTTP POST, JSON of the HTTP binding, for every task binding
V1-PUSH-4 MUST: at least one delivery attempt per webhook
V1-PUSH-5 MAY/SHOULD: retries with exponential backoff
V1-PUSH-6 SHOULD: timeout, 10–30 s
V1-PUSH-8 SHOULD: webhook URLs validated against SSRF (private, loopback, link-local; allowlist)
V1-PUSH-9 SHOULD: configs and credentials stored securely
  because kept in memory in this issue and never shown again; encrypted rows come with the durable store
V1-PUSH-18 SHOULD NOT: unverified client URLs called blindly
V1-PUSH-19 SHOULD: notifications carry a timestamp; old ones refused
  because later issue: signed notifications with their time come with durable delivery; each status event carries its own

V1-EXTCARD-2 MUST: operation requires authentication
V1-EXTCARD-3 MUST: capability false/absent → UnsupportedOperationError
V1-EXTCARD-4 MUST: declared, not configured → ExtendedAgentCardNotConfiguredError
V1-EXTCARD-7 SHOULD: caching headers
V1-EXTCARD-9 SHOULD NOT: exploitable secrets inside
  because the agent's author decides: it writes what the extended card says
V1-EXTCARD-10 MUST: permissions checked before privileged content
V1-EXTCARD-11 SHOULD: versioned; cache invalidation honoured; levels documented
  because the agent's author decides: it sets the card's version; docs/reference/card.md tells of the levels

V1-SP-1 must: parameter names case-insensitive, values case-sensitive
V1-SP-2 MUST: JSON-RPC: sent as HTTP headers
V1-SP-3 MUST: HTTP+JSON: sent as HTTP headers
V1-SP-4 MUST: gRPC: sent as metadata
V1-SP-5 SHOULD: several values comma-joined in one header/entry
V1-SP-6 MUST: gRPC servers read parameters from metadata
V1-SP-7 SHOULD: gRPC servers validate needed parameters
V1-SP-8 must: parameters defined by the specification start with a2a-

V1-VER-3 MUST: semantics of the requested version applied
V1-VER-4 MUST: unsupported version → VersionNotSupportedError
V1-VER-5 MUST: empty value means 0.3
  because later issue: 0.3 is served with its own issue; until then a missing version takes what knows the method
V1-VER-6 SHOULD NOT: patch numbers in requests, replies, cards
V1-VER-7 MUST NOT: patch numbers considered in negotiation

V1-ERR-1 MUST: suitable error returned; SHOULD be actionable
V1-ERR-2 MUST: missing/invalid credentials rejected
V1-ERR-3 SHOULD: challenge included, scheme named
V1-ERR-4 MUST: missing permission → authorization error
V1-ERR-5 SHOULD: missing permission/scope named without leaking
V1-ERR-6 MUST NOT: existence of forbidden resources revealed
V1-ERR-7 MUST: all input validated before processing
V1-ERR-8 SHOULD: failing parameters and reasons named, valid values hinted
V1-ERR-9 MUST: missing or inaccessible resource → not found
V1-ERR-10 SHOULD NOT: "missing" and "not allowed" distinguishable
V1-ERR-11 SHOULD: temporary vs permanent failures have different codes
V1-ERR-13 SHOULD: system errors logged
V1-ERR-14 MUST: every error has code and message
V1-ERR-15 MUST: every detail object has @type
V1-ERR-16 SHOULD: google.rpc detail types used
V1-ERR-17 MUST: bindings map code, message, details without loss of meaning
V1-ERR-18 MUST: A2A errors mapped as in 5.1
V1-ERR-19 MUST: gRPC: ErrorInfo with reason, domain for A2A errors
V1-ERR-20 MUST: HTTP+JSON: ErrorInfo with @type, reason, domain for A2A errors
V1-ERR-21 SHOULD: JSON-RPC: data array with ErrorInfo / BadRequest
V1-ERR-23 must: HTTP error body: error.code, error.message, error.details
V1-ERR-24 must: standard JSON-RPC codes used for envelope errors

V1-CAP-1 MUST: use of an undeclared capability → the prescribed error
V1-CAP-2 MUST: required extension not declared by the client → ExtensionSupportRequiredError

V1-CTX-2 MUST: a generated context id is in the reply
V1-CTX-4 MUST: unacceptable client context id → error
V1-CTX-5 MUST NOT: silently replaced by a new context id
V1-CTX-8 SHOULD: same context id = same conversation
V1-CTX-10 MAY/SHOULD: expiry policies allowed / documented
  because contexts are ids alone and do not expire; how long tasks are kept stands in docs/guides/store-tasks.md
V1-CTX-11 must: server messages carry contextId; taskId only if a task exists

V1-TID-1 MUST: unique id per new task
V1-TID-2 MUST: id in the returned task
V1-TID-4 MUST: unknown taskId → TaskNotFoundError
V1-TID-5 must: no client-chosen ids for new tasks

V1-TURN-3 MUST: context inferred from the task if only taskId is given
V1-TURN-4 MUST: mismatching pair rejected
V1-TURN-6 SHOULD: referenced tasks used for understanding
  because the agent's author decides: it uses turn.references()
V1-TURN-7 SHOULD: shared context used for relevant answers
  because the agent's author decides: it keys what it remembers by turn.contextId
V1-TURN-8 must: terminal tasks never restart; refinement is a new task
V1-TURN-9 should: refined artifact keeps its name
  because the agent's author decides: it names its artifacts
V1-TURN-10 should: ambiguous artifact reference → INPUT_REQUIRED asking for it
  because the agent's author decides: it asks with inputRequired()

V1-MSG-1 SHOULD NOT: task results delivered as messages
  because the agent's author decides: results are artifacts unless it replies
V1-MSG-2 SHOULD: results delivered as artifacts
  because the agent's author decides: it yields artifact()
V1-MSG-3 MUST NOT: messages treated as reliable for critical information
  because the agent's author decides: status messages are kept in the history all the same

V1-JSON-1 MUST: camelCase member names
V1-JSON-2 MUST: enums as proto names
V1-JSON-3 must: part and event kind by member presence, no kind

V1-TIME-1 MUST: timestamps ISO 8601 UTC strings
V1-TIME-2 SHOULD: millisecond precision where known
V1-TIME-4 MUST NOT: offsets other than Z
V1-TIME-5 MUST: correct parsing and generation

V1-PRES-1 MUST: REQUIRED fields present and set
V1-PRES-2 SHOULD: missing required fields → reject
V1-PRES-3 MUST: required arrays have ≥ 1 element (see D-9)
V1-PRES-4 should: documented defaults applied when an optional field is absent
V1-PRES-5 SHOULD: unknown fields ignored

V1-PART-1 must: exactly one content member per part
V1-PART-2 must: artifact and message have ≥ 1 part
V1-PART-3 must: artifactId unique inside the task

V1-EXT-3 SHOULD: unsupported requested extension ignored
V1-EXT-4 MUST: error when that extension is required by the card
V1-EXT-5 MUST NOT: automatic fallback to another version
V1-EXT-6 SHOULD: reply lists activated extensions in A2A-Extensions
V1-EXT-7 must: extensions inactive unless requested
V1-EXT-10 MUST: extension data validated as untrusted
V1-EXT-11 MUST: extension methods under core authn/authz
  because an extension cannot add methods to a server of ours
V1-EXT-13 should not: data-only extensions marked required
  because the agent's author decides: it says in the card what is required

V1-EQ-1 MUST: same operations and capabilities on all bindings
V1-EQ-2 MUST: semantically equal results
V1-EQ-3 MUST: consistent error mapping
V1-EQ-4 MUST: same authentication schemes

V1-SEL-1 MUST: all supported bindings declared

V1-RPC-2 must: application/json
V1-RPC-3 must: PascalCase method names of 6.1
V1-RPC-4 must: streams are SSE, each data a JSON-RPC response with the request's id
V1-RPC-5 must: A2A codes in -32001…-32099

V1-GRPC-1 must: implements A2AService of the normative proto, proto3
V1-GRPC-2 must: HTTP/2 with TLS
V1-GRPC-3 must: streams as server-streaming StreamResponse

V1-HTTP-1 SHOULD: application/a2a+json for requests and replies
V1-HTTP-7 must: SSE data = bare StreamResponse
V1-HTTP-8 SHOULD: events not reordered (3.5.2 makes it MUST)
V1-HTTP-9 MUST: UTF-8 JSON
V1-HTTP-10 must: routes of 6.4, with and without tenant prefix

V1-CARD-1 MUST: a card is available
V1-CARD-2 MUST: bindings declared properly
V1-CARD-3 SHOULD: all combinations listed in preference order
V1-CARD-4 MUST: binding and URL of each entry correct
V1-CARD-6 MUST: well-known URI returns an AgentCard
V1-CARD-7 SHOULD NOT: secrets or internals in the card
  because the agent's author decides: the rest of the card is what it wrote
V1-CARD-8 SHOULD: card served over HTTPS
V1-CARD-9 SHOULD: each agent on a shared domain has its own card
V1-CARD-10 must: HTTP interface URLs absolute, HTTPS in production; gRPC host:port
V1-CARD-11 should: protocolVersion names the newest supported minor of its major
V1-CARD-12 must: each SecurityScheme and OAuthFlows has exactly one member
  because later issue: cards declare no security schemes until those are enforced from the card
V1-CARD-13 must: API key location is query, header or cookie
  because later issue: cards declare no security schemes until those are enforced from the card
V1-CARD-14 must: OAuth2 metadata and flow URLs use TLS
  because later issue: cards declare no security schemes until those are enforced from the card

V1-CACHE-1 SHOULD: HTTP caching used
V1-CACHE-2 SHOULD: Cache-Control: max-age
V1-CACHE-3 SHOULD: ETag from version or hash

V1-SIGN-2 MUST: RFC 8785 canonical form before signing/verifying
  because later issue: cards are signed with the issue on signatures
V1-SIGN-3 MUST: unset optional fields omitted
  because later issue: cards are signed with the issue on signatures
V1-SIGN-4 MUST: set optional fields kept, even at default
  because later issue: cards are signed with the issue on signatures
V1-SIGN-5 MUST: REQUIRED fields kept, even at default
  because later issue: cards are signed with the issue on signatures
V1-SIGN-6 MUST: other default values omitted
  because later issue: cards are signed with the issue on signatures
V1-SIGN-7 MUST: signatures excluded
  because later issue: cards are signed with the issue on signatures
V1-SIGN-8 MUST: protected header has alg and kid
  because later issue: cards are signed with the issue on signatures
V1-SIGN-9 SHOULD: typ is JOSE
  because later issue: cards are signed with the issue on signatures

V1-AUTH-1 MUST: every request authenticated per declared requirements
V1-AUTH-2 SHOULD: binding-specific codes for auth failures
V1-AUTH-3 SHOULD: challenge information returned
V1-AUTH-6 should: 401 with WWW-Authenticate; 403 when permission is missing

V1-INTASK-1 MUST: a task tracks the operation
V1-INTASK-2 MUST: state becomes AUTH_REQUIRED
V1-INTASK-3 MUST: status message explains, unless agreed otherwise
  because the agent's author decides: it writes the text of authRequired()
V1-INTASK-4 MUST: credential arrives out of band unless in-band was negotiated
V1-INTASK-5 SHOULD: streams kept open in AUTH_REQUIRED (out-of-band case)
V1-INTASK-7 SHOULD: messages accepted in AUTH_REQUIRED
V1-INTASK-10 SHOULD: credentials over a secure out-of-band channel
  because the agent's author decides: it names the place where the grant is given
V1-INTASK-11 SHOULD: in-band credentials bound to the requesting agent
  because the agent's author decides: no credential is taken in band by the framework
V1-INTASK-12 SHOULD: sensitive in-band credentials readable only by it
  because the agent's author decides: no credential is taken in band by the framework
V1-INTASK-13 MUST NOT: state transition taken as authorization
  because the agent's author decides: it looks for the grant itself, the state says nothing
V1-INTASK-14 MUST: scope of a grant defined by implementation, issuer or extension
  because the agent's author decides: it or the issuer of the grant says what it covers
V1-INTASK-15 MUST NOT: grant assumed to cover later messages
  because the agent's author decides: it asks again for each thing that needs a grant

V1-SEC-1 MUST: encryption in production
  because whoever runs the server decides: TLS here or before the server; docs/guides/deploy.md
V1-SEC-2 SHOULD: modern TLS (1.3+), strong suites
  because whoever runs the server decides: ciphers by the tls option; Node's defaults prefer TLS 1.3
V1-SEC-4 SHOULD: HSTS
  because whoever runs the server decides: HSTS is a promise for the whole host, made by whoever owns it
V1-SEC-5 SHOULD: SSLv3, TLS 1.0, TLS 1.1 off
V1-SEC-6 MUST: authorization check on every operation
V1-SEC-7 MUST: results scoped to the caller, also without filters
V1-SEC-8 MUST: Cancel, Subscribe, push config check access
V1-SEC-9 MUST: checks precede queries that could leak existence
V1-SEC-11 SHOULD: authorization model documented
  because documentation: docs/explanation/security.md
V1-SEC-12 SHOULD: limits on message size, file size, complexity
V1-SEC-13 SHOULD: file types checked, unexpected refused
V1-SEC-14 MUST: credentials treated as secrets
V1-SEC-15 SHOULD: credentials rotated, only over encrypted links, revocable
  because whoever runs the server decides: credentials of callers are checked by its authenticate; those of webhooks are replaced by their id
V1-SEC-16 SHOULD: auth failures logged and rate limited
  because whoever runs the server decides: rate limits of strangers belong into authenticate or before the server
V1-SEC-17 SHOULD: security events logged, patterns monitored, audit trail
  because whoever runs the server decides: it keeps and watches its logs
V1-SEC-18 MUST NOT: sensitive data in logs unless needed and protected
V1-SEC-19 SHOULD: rate limits on all operations with a suitable error
V1-SEC-21 MUST: data protection law followed
  because whoever runs the server decides: data protection is a matter of law and place
V1-SEC-22 SHOULD: deletion on request, retention policy, minimal personal logging
  because whoever runs the server decides: deletion on request comes with the durable store
V1-SEC-23 MUST: content validated against the schema
V1-SEC-24 MUST: user content sanitized against injection
  because the agent's author decides: it knows where its content goes
V1-SEC-25 MUST: file links validated against SSRF
  because links in parts are handed to the agent and never fetched by the framework; webhooks: see PUSH-8
V1-SEC-26 MUST: history and artifacts protected
V1-SEC-27 must: least privilege
  because whoever runs the server decides: it gives the process no more rights than it needs
V1-SEC-28 should: trace context propagated
  because later issue: traces come with telemetry
V1-SEC-29 must: authorization enforced before sensitive backend actions or data access

V1-BIND-1 SHOULD/MUST: identified by a URI
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-2 MUST: breaking change → new URI
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-3 MUST: all core operations, equivalent model, same semantics, full documentation
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-4 MUST: mappings for messages, timestamps, binary, enums
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-5 MUST: service parameter transport, limits, reserved names, fallback documented
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-6 MUST: all A2A errors mapped, details kept, format documented
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-7 SHOULD: mapping table given
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-8 MUST: missing streaming support declared in the card
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-9 MUST: authentication integrated and documented
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-10 MUST: declared in the card with URI and URL
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-11 SHOULD: interoperability tests, differences, examples
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
`;

/** Parses the rows of a table. Throws for an invalid line. */
export function readRequirements(text: string = table): readonly Requirement[] {
  const rows: { id: string; level: string; rule: string; because: string[] }[] = [];
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const reason = /^ {2}because (.+)$/.exec(line)?.[1];
    const [, id, level = "", rule = ""] = /^((?:V1|V03|IOP)-[A-Z\d-]+) ([A-Za-z /]+): (.+)$/.exec(line) ?? [];
    if (reason !== undefined) rows.at(-1)?.because.push(reason);
    else if (id !== undefined) rows.push({ id, level, rule, because: [] });
    else throw new Error(`no row of the table: ${line}`);
  }
  return rows;
}
