// The specification's requirements on a server and the tests that show them: every MUST and SHOULD of spec 9 that
// concerns agents, both sides, or bindings. A row names tests by file and the beginning of their title. Where something
// cannot be tested, it says why.

/** One row of the table. */
export interface Requirement {
  readonly id: string;
  /** The level as the specification writes it: `MUST`, `should not`. */
  readonly level: string;
  readonly rule: string;
  /** `file: beginning of a title`. */
  readonly shown: readonly string[];
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
  shown e2e/sends/sending: a message reaches the agent unchanged, and the answer reaches the caller unchanged

V1-SEND-2 MUST: reply holds task info or a message (exactly one)
  shown e2e/sends/sending: a reply is the whole answer
  shown e2e/sends/sending: any other event makes a task
  shown e2e/wire-forms: an answer has the id of its request
V1-SEND-4 MUST: message to a terminal task → UnsupportedOperationError
  shown e2e/sends/sending: a message to an ended task is refused, however it is sent
V1-SEND-5 MUST: unknown or invisible taskId → TaskNotFoundError
  shown e2e/sends/sending: an unknown task id is not found, because callers do not choose ids
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-SEND-6 MUST: unsupported part media type → ContentTypeNotSupportedError
  shown e2e/sends/sending: parts of a media type missing from the card are refused before the agent starts
V1-SEND-7 SHOULD: output follows acceptedOutputModes
  shown e2e/sends/sending: a message reaches the agent unchanged, and the answer reaches the caller unchanged
  because the agent's author decides: it reads turn.configuration.acceptedOutputModes

V1-EXEC-1 MUST: returnImmediately false/unset: wait for terminal or interrupted state
  shown e2e/sends/sending: a send waits while the task is working
  shown e2e/sends/sending: a send is answered at %s
V1-EXEC-2 MUST: blocking reply has latest state, all artifacts, status
  shown e2e/sends/sending: any other event makes a task
V1-EXEC-3 MUST: returnImmediately true: reply right after task creation
  shown e2e/sends/sending: returnImmediately answers as soon as the task exists, which then continues
  shown e2e/sends/multi-turn: returnImmediately on a waiting task answers at once, with the message taken
V1-EXEC-4 must: returnImmediately changes nothing for message replies, streams, webhooks
  shown e2e/sends/sending: returnImmediately changes nothing for a reply

V1-HIST-1 MUST NOT: more messages than historyLength returned
  shown e2e/sends/sending: historyLength %s returns the last %s messages, in the answer and in getTask
  shown e2e/sends/streaming: historyLength holds for the task in a stream
  shown e2e/tasks/listing: tasks come newest status first
V1-HIST-3 SHOULD: historyLength 0: history left out
  shown e2e/wire-forms: history is left out when none is asked for
V1-HIST-4 must: unset: no client limit, server default
  shown e2e/sends/sending: historyLength %s returns the last %s messages, in the answer and in getTask
V1-HIST-5 must: positive: the most recent messages
  shown e2e/sends/sending: historyLength %s returns the last %s messages, in the answer and in getTask

V1-STREAM-1 MUST: operation opens a stream
  shown e2e/sends/streaming: the stream of a task begins with the task
V1-STREAM-2 MUST: message answer: exactly one message, then close
  shown e2e/sends/streaming: the stream of a reply is one message
V1-STREAM-3 MUST: task answer: first event is the task, then only update events
  shown e2e/sends/streaming: the stream of a task begins with the task
V1-STREAM-4 MUST: stream closes at a terminal state
  shown e2e/sends/streaming: the stream of a task begins with the task
V1-STREAM-5 MUST: immediate feedback on progress and intermediate results
  shown e2e/sends/streaming: each event is sent before the next one is made
V1-STREAM-6 MUST: no streaming capability → UnsupportedOperationError
  shown e2e/sends/streaming: an agent whose card turns streaming off
V1-STREAM-7 MUST: terminal task → UnsupportedOperationError
  shown e2e/sends/sending: a message to an ended task is refused, however it is sent
V1-STREAM-8 MUST: events delivered in generation order
  shown e2e/sends/streaming: the stream of a task begins with the task
  shown e2e/sends/streaming: a token stream of thousands of chunks
V1-STREAM-9 MUST NOT: events reordered in transmission, in any binding
  shown e2e/sends/streaming: a token stream of thousands of chunks
  shown core/simulator: loses nothing in
V1-STREAM-11 MUST: every event goes to all active streams of the task
  shown e2e/sends/streaming: a subscriber sees the current task at any time, then the same events in the same order
V1-STREAM-12 MUST: all streams get the same events in the same order
  shown e2e/sends/streaming: a subscriber sees the current task at any time, then the same events in the same order
V1-STREAM-13 MUST NOT: closing one stream affects others
  shown e2e/sends/streaming: a reader that leaves affects no other, and the task continues without any stream
V1-STREAM-14 must: task lifecycle independent of streams
  shown e2e/sends/streaming: a reader that leaves affects no other, and the task continues without any stream
V1-STREAM-16 must: stream closes at terminal or interrupted state (conflicts with STREAM-4 reading, D-3)
  shown e2e/sends/streaming: a stream whose first event is %s ends with it
  shown e2e/sends/streaming: the stream stays open at AUTH_REQUIRED
  shown e2e/tasks/authorization: a caller reads what to authorize as text, a program reads it as data, and the stream goes on afterwards

V1-GET-1 MUST: unknown or invisible task → TaskNotFoundError
  shown e2e/tasks/listing: an unknown task is not found
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-GET-2 MUST: access of the caller checked
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-GET-3 must: current status and artifacts returned, history per limit
  shown e2e/sends/sending: any other event makes a task
  shown e2e/sends/sending: historyLength %s returns the last %s messages, in the answer and in getTask

V1-LIST-1 MUST: only tasks visible to the caller
  shown e2e/callers/who-is-asking: a list holds only the caller's tasks, and its page tokens are invalid for other callers
V1-LIST-2 MUST: cursor pagination
  shown e2e/tasks/listing: pages add up to the whole list, each task once, whatever their size
  shown e2e/tasks/listing: a page token is valid only for its own filters
V1-LIST-3 MUST: newest status timestamp first
  shown e2e/tasks/listing: tasks come newest status first
V1-LIST-4 MUST: artifacts absent from every task unless includeArtifacts is true
  shown e2e/wire-forms: required members of a list are present when empty; artifacts and history are absent
V1-LIST-5 should: includeArtifacts true: artifacts present with real content, maybe empty
  shown e2e/tasks/listing: tasks come newest status first
  shown version/v1.0/json: show that a task has no artifacts when artifacts were requested
V1-LIST-6 MUST: nextPageToken always present
  shown e2e/wire-forms: required members of a list are present when empty; artifacts and history are absent
V1-LIST-7 MUST: nextPageToken is "" on the last page
  shown e2e/wire-forms: required members of a list are present when empty; artifacts and history are absent
  shown e2e/tasks/listing: pages add up to the whole list, each task once, whatever their size
V1-LIST-8 must: default page ≤ 50, pageSize between 1 and 100
  shown e2e/tasks/listing: an empty list has every member
  shown e2e/tasks/listing: a value out of range is refused
V1-LIST-9 must: statusTimestampAfter inclusive
  shown e2e/tasks/listing: each filter narrows the list
V1-LIST-10 MUST: tasks, pageSize, totalSize present
  shown e2e/wire-forms: required members of a list are present when empty; artifacts and history are absent
V1-LIST-12 MUST: out-of-range or unknown parameter values rejected
  shown e2e/tasks/listing: a value out of range is refused
  shown e2e/tasks/listing: a page token is valid only for its own filters

V1-CANCEL-1 MUST: not cancelable → TaskNotCancelableError
  shown e2e/tasks/canceling: an ended or canceled task is not cancelable, and an unknown task is not found
V1-CANCEL-2 MUST: unknown or invisible → TaskNotFoundError
  shown e2e/tasks/canceling: an ended or canceled task is not cancelable, and an unknown task is not found
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-CANCEL-3 must: reply is the updated task
  shown e2e/tasks/canceling: a cancel aborts the working agent, sets its task to CANCELED and ends its streams
  shown e2e/tasks/canceling: an idle task is CANCELED without starting its agent
V1-CANCEL-4 must: repeated cancels have one effect
  shown e2e/tasks/canceling: concurrent cancels have one effect

V1-SUB-1 MUST: first event is the task at subscription time
  shown e2e/sends/streaming: a subscriber sees the current task at any time, then the same events in the same order
  shown e2e/sends/streaming: a subscription outlives INPUT_REQUIRED
V1-SUB-2 MUST: stream ends at a terminal state
  shown e2e/sends/streaming: a subscription outlives INPUT_REQUIRED
  shown e2e/tasks/canceling: an idle task is CANCELED without starting its agent
V1-SUB-3 MUST: terminal task → UnsupportedOperationError
  shown e2e/sends/streaming: a subscription to a finished task is refused, and to an unknown one not found
V1-SUB-4 MUST: unknown or invisible → TaskNotFoundError
  shown e2e/sends/streaming: a subscription to a finished task is refused, and to an unknown one not found
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-SUB-5 MUST: no streaming capability → UnsupportedOperationError
  shown e2e/sends/streaming: an agent whose card turns streaming off
V1-SUB-6 must: usable in every non-terminal state
  shown e2e/sends/streaming: a subscription outlives INPUT_REQUIRED
  shown e2e/sends/multi-turn: a task at AUTH_REQUIRED continues when the credential arrives out of band
  shown e2e/sends/sending: returnImmediately answers as soon as the task exists, which then continues

V1-PCFG-1 MUST: no push capability: all four operations → PushNotificationNotSupportedError
  shown e2e/tasks/push-config: an agent without push notifications refuses all four, and a configuration in a send
V1-PCFG-2 MUST: Create starts webhook delivery for the task
  shown push/serve: are configured, returned without credentials, delivered, and kept after the task ends
V1-PCFG-3 MUST: config persists until task end or deletion
  shown push/serve: are configured, returned without credentials, delivered, and kept after the task ends
V1-PCFG-4 MUST: unknown task → TaskNotFoundError (all four)
  shown e2e/tasks/push-config: all four answer not found for an unknown task
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-PCFG-5 must: Create returns the config with its id
  shown e2e/tasks/push-config: a configuration gets an id, is listed, and is returned without its credentials
V1-PCFG-6 MUST: Get returns URL and settings
  shown e2e/tasks/push-config: a configuration gets an id, is listed, and is returned without its credentials
V1-PCFG-7 MUST: Get fails when config missing or not accessible
  shown e2e/tasks/push-config: deleting is permanent and idempotent
  shown e2e/tasks/push-config: all four answer not found for an unknown task
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-PCFG-8 MUST: List returns all active configs of the task
  shown e2e/tasks/push-config: a configuration gets an id, is listed, and is returned without its credentials
  shown e2e/tasks/push-config: the list comes in pages
V1-PCFG-10 MUST: Delete removes permanently, calls stop
  shown e2e/tasks/push-config: deleting is permanent and idempotent
  shown push/delivery: stop when the configuration is deleted
V1-PCFG-11 MUST: Delete is idempotent
  shown e2e/tasks/push-config: deleting is permanent and idempotent

V1-PUSH-1 MUST: credentials of authentication in the request headers
  shown push/delivery: carry the token and the credentials
V1-PUSH-2 must: body is a StreamResponse with exactly one member
  shown push/delivery: send the events of a task in order, each once, and end with the task
  shown push/delivery: carry the token and the credentials
V1-PUSH-3 must: plain HTTP POST, JSON of the HTTP binding, for every task binding
  shown push/delivery: carry the token and the credentials
  shown push/serve: push notifications of a served agent over %s
V1-PUSH-4 MUST: at least one delivery attempt per webhook
  shown push/delivery: go to each configuration of a task
V1-PUSH-5 MAY/SHOULD: retries with exponential backoff
  shown push/retry: is retried after %s with growing delays, and gets the rest in order
V1-PUSH-6 SHOULD: timeout, 10–30 s
  shown push/retry: times out, and is retried
V1-PUSH-8 SHOULD: webhook URLs validated against SSRF (private, loopback, link-local; allowlist)
  shown push/policy: forbids %s when set to public
  shown push/retry: is resolved for each call, and refused when it is %s
  shown e2e/tasks/push-config: an address outside the allowed ones is refused
V1-PUSH-9 SHOULD: configs and credentials stored securely
  shown e2e/tasks/push-config: a configuration gets an id, is listed, and is returned without its credentials
  because kept in memory in this issue and never shown again; encrypted rows come with the durable store
V1-PUSH-18 SHOULD NOT: unverified client URLs called blindly
  shown e2e/tasks/push-config: an address outside the allowed ones is refused
  shown push/retry: cannot redirect to another webhook
V1-PUSH-19 SHOULD: notifications carry a timestamp; old ones refused
  because later issue: signed notifications with their time come with durable delivery; each status event carries its own

V1-EXTCARD-2 MUST: operation requires authentication
  shown e2e/card: an anonymous caller cannot see the extended card
V1-EXTCARD-3 MUST: capability false/absent → UnsupportedOperationError
  shown e2e/card: an agent that declares none answers
V1-EXTCARD-4 MUST: declared, not configured → ExtendedAgentCardNotConfiguredError
  shown e2e/card: an agent that declares none answers
V1-EXTCARD-7 SHOULD: caching headers
  shown e2e/card: an extended card is never stored by shared caches
V1-EXTCARD-9 SHOULD NOT: exploitable secrets inside
  because the agent's author decides: it writes what the extended card says
V1-EXTCARD-10 MUST: permissions checked before privileged content
  shown e2e/card: an anonymous caller cannot see the extended card
  shown e2e/card: an authenticated caller sees the extended card
V1-EXTCARD-11 SHOULD: versioned; cache invalidation honoured; levels documented
  because the agent's author decides: it sets the card's version; docs/reference/card.md tells of the levels

V1-SP-1 must: parameter names case-insensitive, values case-sensitive
  shown e2e/parameters: %s takes the version from the query
  shown e2e/parameters: %s names the activated extensions in its response
V1-SP-2 MUST: JSON-RPC: sent as HTTP headers
  shown e2e/parameters: %s takes the version from the query
V1-SP-3 MUST: HTTP+JSON: sent as HTTP headers
  shown e2e/parameters: %s takes the version from the query
V1-SP-4 MUST: gRPC: sent as metadata
  shown e2e/parameters: gRPC returns it in its metadata
  shown binding/grpc/client: sends its version, headers and binary metadata
V1-SP-5 SHOULD: several values comma-joined in one header/entry
  shown e2e/parameters: %s names the activated extensions in its response
  shown e2e/parameters: gRPC returns it in its metadata
V1-SP-6 MUST: gRPC servers read parameters from metadata
  shown e2e/parameters: version %s is refused, and the error lists the served versions
  shown e2e/parameters: gRPC returns it in its metadata
V1-SP-7 SHOULD: gRPC servers validate needed parameters
  shown e2e/parameters: version %s is refused, and the error lists the served versions
V1-SP-8 must: parameters defined by the specification start with a2a-
  shown e2e/parameters: %s takes the version from the query
  shown e2e/parameters: %s names the activated extensions in its response

V1-VER-3 MUST: semantics of the requested version applied
  shown e2e/parameters: version %s is served
V1-VER-4 MUST: unsupported version → VersionNotSupportedError
  shown e2e/parameters: version %s is refused, and the error lists the served versions
V1-VER-5 MUST: empty value means 0.3
  shown e2e/parameters: a call without a version is served, and refused by a strict server
  because later issue: 0.3 is served with its own issue; until then a missing version takes what knows the method
V1-VER-6 SHOULD NOT: patch numbers in requests, replies, cards
  shown e2e/wire-forms: the card shows no patch number
V1-VER-7 MUST NOT: patch numbers considered in negotiation
  shown e2e/parameters: version %s is served

V1-ERR-1 MUST: suitable error returned; SHOULD be actionable
  shown e2e/sends/task-after: %s thrown before the first event is the answer
V1-ERR-2 MUST: missing/invalid credentials rejected
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
V1-ERR-3 SHOULD: challenge included, scheme named
  shown e2e/callers/who-is-asking: 401 comes with the challenge
  shown binding/http/http-json-server: challenges an unknown caller also
V1-ERR-4 MUST: missing permission → authorization error
  shown e2e/callers/who-is-asking: a caller without permission gets that error, and nothing is executed
V1-ERR-5 SHOULD: missing permission/scope named without leaking
  shown e2e/callers/who-is-asking: a caller without permission gets that error, and nothing is executed
V1-ERR-6 MUST NOT: existence of forbidden resources revealed
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
  shown e2e/callers/who-is-asking: the answer for another caller's task equals the answer for an unknown one, byte for byte
V1-ERR-7 MUST: all input validated before processing
  shown e2e/bad-input/fields: %s names whatever field is wrong
  shown e2e/bad-input/bodies: refuses a body of %s
V1-ERR-8 SHOULD: failing parameters and reasons named, valid values hinted
  shown e2e/bad-input/fields: %s names whatever field is wrong
  shown e2e/tasks/listing: a value out of range is refused
  shown protocol/codec/json-reader: of an unknown state %j lists the states
V1-ERR-9 MUST: missing or inaccessible resource → not found
  shown e2e/tasks/listing: an unknown task is not found
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-ERR-10 SHOULD NOT: "missing" and "not allowed" distinguishable
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
  shown e2e/callers/who-is-asking: the answer for another caller's task equals the answer for an unknown one, byte for byte
V1-ERR-11 SHOULD: temporary vs permanent failures have different codes
  shown e2e/draining: turns and their streams finish, and new work is refused meanwhile
  shown e2e/limits: the turn limit applies to each owner separately
V1-ERR-13 SHOULD: system errors logged
  shown e2e/sends/task-after: an agent that %s fails its task with a reference
  shown binding/http/json-rpc-server: shows nothing of what broke inside
V1-ERR-14 MUST: every error has code and message
  shown e2e/sends/task-after: %s thrown before the first event is the answer
V1-ERR-15 MUST: every detail object has @type
  shown e2e/wire-forms: an error has a code, a message, and typed details with the reason
  shown e2e/wire-forms: an error is one object with code
V1-ERR-16 SHOULD: google.rpc detail types used
  shown e2e/wire-forms: an error has a code, a message, and typed details with the reason
  shown e2e/wire-forms: an error is one object with code
V1-ERR-17 MUST: bindings map code, message, details without loss of meaning
  shown e2e/sends/task-after: %s thrown before the first event is the answer
  shown binding/transports: %s survives the round trip
  shown binding/grpc/errors: %s thrown by an operation
V1-ERR-18 MUST: A2A errors mapped as in 5.1
  shown binding/http/http-json-server: reports %s with its HTTP status and its reason
  shown binding/grpc/errors: %s is sent as a status and arrives complete
  shown version/v1.0/errors: $id $code is written back
V1-ERR-19 MUST: gRPC: ErrorInfo with reason, domain for A2A errors
  shown binding/grpc/errors: encodes a missing task byte for byte
  shown e2e/sends/task-after: %s thrown before the first event is the answer
V1-ERR-20 MUST: HTTP+JSON: ErrorInfo with @type, reason, domain for A2A errors
  shown e2e/wire-forms: an error is one object with code
V1-ERR-21 SHOULD: JSON-RPC: data array with ErrorInfo / BadRequest
  shown e2e/wire-forms: an error has a code, a message, and typed details with the reason
V1-ERR-23 must: HTTP error body: error.code, error.message, error.details
  shown e2e/wire-forms: an error is one object with code
V1-ERR-24 must: standard JSON-RPC codes used for envelope errors
  shown binding/http/json-rpc-server: refuses $what with $code

V1-CAP-1 MUST: use of an undeclared capability → the prescribed error
  shown e2e/tasks/push-config: an agent without push notifications
  shown e2e/sends/streaming: an agent whose card turns streaming off
  shown e2e/card: an agent that declares none
V1-CAP-2 MUST: required extension not declared by the client → ExtensionSupportRequiredError
  shown e2e/parameters: a required extension that is not activated

V1-CTX-2 MUST: a generated context id is in the reply
  shown e2e/sends/sending: a context id chosen by the caller is kept, and a missing one is generated
  shown e2e/sends/sending: a reply is the whole answer
V1-CTX-4 MUST: unacceptable client context id → error
  shown e2e/sends/multi-turn: a message to a task takes the task's context, and another context is refused
V1-CTX-5 MUST NOT: silently replaced by a new context id
  shown e2e/sends/sending: a context id chosen by the caller is kept, and a missing one is generated
V1-CTX-8 SHOULD: same context id = same conversation
  shown e2e/sends/multi-turn: a known context without a task starts a new task in it
V1-CTX-10 MAY/SHOULD: expiry policies allowed / documented
  because contexts are ids alone and do not expire; how long tasks are kept stands in docs/guides/store-tasks.md
V1-CTX-11 must: server messages carry contextId; taskId only if a task exists
  shown e2e/sends/sending: a reply is the whole answer
  shown e2e/sends/sending: a send is answered at %s

V1-TID-1 MUST: unique id per new task
  shown e2e/sends/sending: each task gets its own id, even if the same message is sent twice
V1-TID-2 MUST: id in the returned task
  shown e2e/sends/sending: any other event makes a task
V1-TID-4 MUST: unknown taskId → TaskNotFoundError
  shown e2e/sends/sending: an unknown task id is not found, because callers do not choose ids
V1-TID-5 must: no client-chosen ids for new tasks
  shown e2e/sends/sending: an unknown task id is not found, because callers do not choose ids

V1-TURN-3 MUST: context inferred from the task if only taskId is given
  shown e2e/sends/multi-turn: a message to a task takes the task's context, and another context is refused
V1-TURN-4 MUST: mismatching pair rejected
  shown e2e/sends/multi-turn: a message to a task takes the task's context, and another context is refused
V1-TURN-6 SHOULD: referenced tasks used for understanding
  shown e2e/sends/multi-turn: the agent sees the referenced tasks that exist
  because the agent's author decides: it uses turn.references()
V1-TURN-7 SHOULD: shared context used for relevant answers
  shown e2e/sends/multi-turn: a known context without a task
  because the agent's author decides: it keys what it remembers by turn.contextId
V1-TURN-8 must: terminal tasks never restart; refinement is a new task
  shown e2e/sends/sending: a message to an ended task is refused, however it is sent
  shown e2e/sends/multi-turn: refining an artifact in a new task leaves the original unchanged
V1-TURN-9 should: refined artifact keeps its name
  shown e2e/sends/multi-turn: refining an artifact in a new task leaves the original unchanged
  because the agent's author decides: it names its artifacts
V1-TURN-10 should: ambiguous artifact reference → INPUT_REQUIRED asking for it
  because the agent's author decides: it asks with inputRequired()

V1-MSG-1 SHOULD NOT: task results delivered as messages
  because the agent's author decides: results are artifacts unless it replies
V1-MSG-2 SHOULD: results delivered as artifacts
  shown e2e/sends/sending: any other event makes a task
  because the agent's author decides: it yields artifact()
V1-MSG-3 MUST NOT: messages treated as reliable for critical information
  shown e2e/sends/multi-turn: an agent that returned after asking is started again by the answer, with its task
  because the agent's author decides: status messages are kept in the history all the same

V1-JSON-1 MUST: camelCase member names
  shown e2e/wire-forms: a task has lowerCamelCase members
V1-JSON-2 MUST: enums as proto names
  shown e2e/wire-forms: a task has lowerCamelCase members
V1-JSON-3 must: part and event kind by member presence, no kind
  shown e2e/wire-forms: a task has lowerCamelCase members
  shown e2e/sends/sending: a message reaches the agent unchanged, and the answer reaches the caller unchanged

V1-TIME-1 MUST: timestamps ISO 8601 UTC strings
  shown e2e/wire-forms: a task has lowerCamelCase members
V1-TIME-2 SHOULD: millisecond precision where known
  shown e2e/wire-forms: a task has lowerCamelCase members
V1-TIME-4 MUST NOT: offsets other than Z
  shown e2e/wire-forms: a task has lowerCamelCase members
V1-TIME-5 MUST: correct parsing and generation
  shown protocol/timestamp: reads %s as %s
  shown protocol/timestamp: reads every time as it was written

V1-PRES-1 MUST: REQUIRED fields present and set
  shown e2e/wire-forms: required members of a list are present when empty; artifacts and history are absent
  shown version/v1.0/json: $id $method is read and written back
V1-PRES-2 SHOULD: missing required fields → reject
  shown e2e/bad-input/fields: %s names whatever field is wrong
  shown protocol/check/validate: is refused over JSON
V1-PRES-3 MUST: required arrays have ≥ 1 element (see D-9)
  shown e2e/bad-input/fields: %s names whatever field is wrong
V1-PRES-4 should: documented defaults applied when an optional field is absent
  shown e2e/tasks/listing: an empty list has every member
V1-PRES-5 SHOULD: unknown fields ignored
  shown e2e/wire-forms: unknown members are ignored on every level

V1-PART-1 must: exactly one content member per part
  shown e2e/bad-input/fields: %s names whatever field is wrong
  shown e2e/sends/sending: a message reaches the agent unchanged, and the answer reaches the caller unchanged
V1-PART-2 must: artifact and message have ≥ 1 part
  shown e2e/bad-input/fields: %s names whatever field is wrong
V1-PART-3 must: artifactId unique inside the task
  shown e2e/sends/sending: any other event makes a task

V1-EXT-3 SHOULD: unsupported requested extension ignored
  shown e2e/parameters: an extension is active only for a call that requests it, and unknown ones are ignored
V1-EXT-4 MUST: error when that extension is required by the card
  shown e2e/parameters: a required extension that is not activated
V1-EXT-5 MUST NOT: automatic fallback to another version
  shown e2e/parameters: a required extension that is not activated
  shown e2e/parameters: an extension is active only for a call that requests it, and unknown ones are ignored
V1-EXT-6 SHOULD: reply lists activated extensions in A2A-Extensions
  shown e2e/parameters: %s names the activated extensions in its response
  shown e2e/parameters: gRPC returns it in its metadata
  shown e2e/parameters: an event stream returns it too
V1-EXT-7 must: extensions inactive unless requested
  shown e2e/parameters: an extension is active only for a call that requests it, and unknown ones are ignored
V1-EXT-10 MUST: extension data validated as untrusted
  shown protocol/codec/json-reader: never touches a prototype
  shown protocol/codec/json-reader: of %s is counted from the outermost object
V1-EXT-11 MUST: extension methods under core authn/authz
  because an extension cannot add methods to a server of ours
V1-EXT-13 should not: data-only extensions marked required
  because the agent's author decides: it says in the card what is required

V1-EQ-1 MUST: same operations and capabilities on all bindings
  shown binding/transports: $name carries its request
  shown version/v1.0/grpc: has every operation under the name of its RPC
  shown binding/grpc/client: has every operation of the table
V1-EQ-2 MUST: semantically equal results
  shown e2e/sends/sending: a message reaches the agent unchanged, and the answer reaches the caller unchanged
  shown e2e/sends/sending: any other event makes a task
  shown e2e/sends/streaming: the stream of a task begins with the task
V1-EQ-3 MUST: consistent error mapping
  shown e2e/sends/task-after: %s thrown before the first event is the answer
V1-EQ-4 MUST: same authentication schemes
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed

V1-SEL-1 MUST: all supported bindings declared
  shown e2e/card: the card lists every active binding at its real URL, in order of preference

V1-RPC-2 must: application/json
  shown e2e/wire-forms: an answer has the id of its request
  shown binding/http/json-rpc-server: never executes a body of type
V1-RPC-3 must: PascalCase method names of 6.1
  shown e2e/wire-forms: an answer has the id of its request
  shown version/v1.0/json: $id $method is read and written back
V1-RPC-4 must: streams are SSE, each data a JSON-RPC response with the request's id
  shown e2e/wire-forms: a stream is made of whole responses
V1-RPC-5 must: A2A codes in -32001…-32099
  shown version/v1.0/errors: $id $code is written back
  shown e2e/wire-forms: an error has a code, a message, and typed details with the reason

V1-GRPC-1 must: implements A2AService of the normative proto, proto3
  shown version/v1.0/grpc: has every operation under the name of its RPC
  shown version/v1.0/grpc: %s %j is %s
V1-GRPC-2 must: HTTP/2 with TLS
  shown e2e/card: calls work over TLS, and the card lists https URLs
V1-GRPC-3 must: streams as server-streaming StreamResponse
  shown e2e/sends/streaming: the stream of a task begins with the task

V1-HTTP-1 SHOULD: application/a2a+json for requests and replies
  shown e2e/wire-forms: an answer is the bare object, with the A2A media type
  shown binding/http/http-json-server: answers Accept $accept and Content-Type $type with $reply, errors in plain JSON unless Accept demands otherwise
V1-HTTP-7 must: SSE data = bare StreamResponse
  shown e2e/wire-forms: a stream is made of bare events
V1-HTTP-8 SHOULD: events not reordered (3.5.2 makes it MUST)
  shown e2e/sends/streaming: the stream of a task begins with the task
V1-HTTP-9 MUST: UTF-8 JSON
  shown e2e/sends/sending: a message reaches the agent unchanged, and the answer reaches the caller unchanged
  shown binding/http/json-rpc-server: refuses bytes that are not UTF-8
V1-HTTP-10 must: routes of 6.4, with and without tenant prefix
  shown e2e/wire-forms: every route exists, also with a tenant prefix

V1-CARD-1 MUST: a card is available
  shown e2e/card: the card lists every active binding at its real URL, in order of preference
V1-CARD-2 MUST: bindings declared properly
  shown e2e/card: the card lists every active binding at its real URL, in order of preference
V1-CARD-3 SHOULD: all combinations listed in preference order
  shown e2e/card: the card lists the mounted bindings, in mount order
V1-CARD-4 MUST: binding and URL of each entry correct
  shown e2e/card: the card lists every active binding at its real URL, in order of preference
  shown e2e/card: calls work over TLS, and the card lists https URLs
V1-CARD-6 MUST: well-known URI returns an AgentCard
  shown e2e/card: the card lists every active binding at its real URL, in order of preference
  shown card/endpoint: serves the card at %s
V1-CARD-7 SHOULD NOT: secrets or internals in the card
  shown e2e/card: an authenticated caller sees the extended card
  because the agent's author decides: the rest of the card is what it wrote
V1-CARD-8 SHOULD: card served over HTTPS
  shown e2e/card: calls work over TLS, and the card lists https URLs
V1-CARD-9 SHOULD: each agent on a shared domain has its own card
  shown card/urls: puts the base path after the host
V1-CARD-10 must: HTTP interface URLs absolute, HTTPS in production; gRPC host:port
  shown e2e/card: the card lists every active binding at its real URL, in order of preference
  shown e2e/card: calls work over TLS, and the card lists https URLs
V1-CARD-11 should: protocolVersion names the newest supported minor of its major
  shown e2e/wire-forms: the card shows no patch number
V1-CARD-12 must: each SecurityScheme and OAuthFlows has exactly one member
  because later issue: cards declare no security schemes until those are enforced from the card
V1-CARD-13 must: API key location is query, header or cookie
  because later issue: cards declare no security schemes until those are enforced from the card
V1-CARD-14 must: OAuth2 metadata and flow URLs use TLS
  because later issue: cards declare no security schemes until those are enforced from the card

V1-CACHE-1 SHOULD: HTTP caching used
  shown e2e/card: the card is cacheable, and a fresh copy is not sent again
V1-CACHE-2 SHOULD: Cache-Control: max-age
  shown e2e/card: the card is cacheable, and a fresh copy is not sent again
V1-CACHE-3 SHOULD: ETag from version or hash
  shown e2e/card: the card is cacheable, and a fresh copy is not sent again

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
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
V1-AUTH-2 SHOULD: binding-specific codes for auth failures
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
  shown e2e/callers/who-is-asking: 401 comes with the challenge
V1-AUTH-3 SHOULD: challenge information returned
  shown e2e/callers/who-is-asking: 401 comes with the challenge
V1-AUTH-6 should: 401 with WWW-Authenticate; 403 when permission is missing
  shown e2e/callers/who-is-asking: 401 comes with the challenge
  shown e2e/callers/who-is-asking: a caller without permission gets that error, and nothing is executed

V1-INTASK-1 MUST: a task tracks the operation
  shown e2e/sends/multi-turn: a task at AUTH_REQUIRED continues when the credential arrives out of band
V1-INTASK-2 MUST: state becomes AUTH_REQUIRED
  shown e2e/sends/sending: a send is answered at %s
V1-INTASK-3 MUST: status message explains, unless agreed otherwise
  shown e2e/sends/multi-turn: a task at AUTH_REQUIRED continues when the credential arrives out of band
  because the agent's author decides: it writes the text of authRequired()
V1-INTASK-4 MUST: credential arrives out of band unless in-band was negotiated
  shown e2e/sends/multi-turn: a task at AUTH_REQUIRED continues when the credential arrives out of band
V1-INTASK-5 SHOULD: streams kept open in AUTH_REQUIRED (out-of-band case)
  shown e2e/sends/streaming: the stream stays open at AUTH_REQUIRED
V1-INTASK-7 SHOULD: messages accepted in AUTH_REQUIRED
  shown e2e/sends/multi-turn: a task at AUTH_REQUIRED takes messages as well
V1-INTASK-10 SHOULD: credentials over a secure out-of-band channel
  shown client/authorization: gives text alone where the agent names a page that is not safe to open, or none
  because the agent's author decides: it names the place where the grant is given
V1-INTASK-11 SHOULD: in-band credentials bound to the requesting agent
  because the agent's author decides: no credential is taken in band by the framework
V1-INTASK-12 SHOULD: sensitive in-band credentials readable only by it
  because the agent's author decides: no credential is taken in band by the framework
V1-INTASK-13 MUST NOT: state transition taken as authorization
  shown e2e/sends/multi-turn: a task at AUTH_REQUIRED continues when the credential arrives out of band
  because the agent's author decides: it looks for the grant itself, the state says nothing
V1-INTASK-14 MUST: scope of a grant defined by implementation, issuer or extension
  because the agent's author decides: it or the issuer of the grant says what it covers
V1-INTASK-15 MUST NOT: grant assumed to cover later messages
  because the agent's author decides: it asks again for each thing that needs a grant

V1-SEC-1 MUST: encryption in production
  shown e2e/card: calls work over TLS, and the card lists https URLs
  because whoever runs the server decides: TLS here or before the server; docs/guides/deploy.md
V1-SEC-2 SHOULD: modern TLS (1.3+), strong suites
  shown binding/listen/listener: prefers HTTP/2 in TLS and serves HTTP/1.1 to clients that request it or nothing
  because whoever runs the server decides: ciphers by the tls option; Node's defaults prefer TLS 1.3
V1-SEC-4 SHOULD: HSTS
  because whoever runs the server decides: HSTS is a promise for the whole host, made by whoever owns it
V1-SEC-5 SHOULD: SSLv3, TLS 1.0, TLS 1.1 off
  shown binding/listen/listener: refuses %s
V1-SEC-6 MUST: authorization check on every operation
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-SEC-7 MUST: results scoped to the caller, also without filters
  shown e2e/callers/who-is-asking: a list holds only the caller's tasks, and its page tokens are invalid for other callers
V1-SEC-8 MUST: Cancel, Subscribe, push config check access
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-SEC-9 MUST: checks precede queries that could leak existence
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
  shown e2e/callers/who-is-asking: the answer for another caller's task equals the answer for an unknown one, byte for byte
V1-SEC-11 SHOULD: authorization model documented
  because documentation: docs/explanation/security.md
V1-SEC-12 SHOULD: limits on message size, file size, complexity
  shown e2e/limits: an oversized request is refused with the limit named, and the next one is answered
  shown e2e/limits: %s over its limit fails the task
  shown e2e/limits: a message with too many parts is refused, with the field named
V1-SEC-13 SHOULD: file types checked, unexpected refused
  shown e2e/sends/sending: parts of a media type missing from the card are refused before the agent starts
V1-SEC-14 MUST: credentials treated as secrets
  shown e2e/tasks/push-config: a configuration gets an id, is listed, and is returned without its credentials
  shown push/retry: is given up after three attempts, in a log line without secrets
V1-SEC-15 SHOULD: credentials rotated, only over encrypted links, revocable
  because whoever runs the server decides: credentials of callers are checked by its authenticate; those of webhooks are replaced by their id
V1-SEC-16 SHOULD: auth failures logged and rate limited
  shown e2e/callers/who-is-asking: the reason for a refusal is only in the log
  because whoever runs the server decides: rate limits of strangers belong into authenticate or before the server
V1-SEC-17 SHOULD: security events logged, patterns monitored, audit trail
  shown e2e/callers/who-is-asking: the reason for a refusal is only in the log
  because whoever runs the server decides: it keeps and watches its logs
V1-SEC-18 MUST NOT: sensitive data in logs unless needed and protected
  shown push/retry: is given up after three attempts, in a log line without secrets
V1-SEC-19 SHOULD: rate limits on all operations with a suitable error
  shown e2e/limits: the turn limit applies to each owner separately
  shown e2e/limits: streams of one principal are limited
V1-SEC-21 MUST: data protection law followed
  because whoever runs the server decides: data protection is a matter of law and place
V1-SEC-22 SHOULD: deletion on request, retention policy, minimal personal logging
  shown store/memory-retention: drops finished tasks, the oldest first
  because whoever runs the server decides: deletion on request comes with the durable store
V1-SEC-23 MUST: content validated against the schema
  shown e2e/bad-input/fields: %s names whatever field is wrong
  shown protocol/check/validate: is refused over JSON
V1-SEC-24 MUST: user content sanitized against injection
  shown protocol/codec/json-reader: never touches a prototype
  shown e2e/tasks/push-config: a line break in a header value is refused, with the field named
  because the agent's author decides: it knows where its content goes
V1-SEC-25 MUST: file links validated against SSRF
  because links in parts are handed to the agent and never fetched by the framework; webhooks: see PUSH-8
V1-SEC-26 MUST: history and artifacts protected
  shown e2e/callers/who-is-asking: another caller's task is answered like an unknown one
V1-SEC-27 must: least privilege
  because whoever runs the server decides: it gives the process no more rights than it needs
V1-SEC-28 should: trace context propagated
  because later issue: traces come with telemetry
V1-SEC-29 must: authorization enforced before sensitive backend actions or data access
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
  shown e2e/callers/who-is-asking: 401 comes with the challenge

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
  shown binding/connect/endpoint: %s keeps its code and details
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-7 SHOULD: mapping table given
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-8 MUST: missing streaming support declared in the card
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-9 MUST: authentication integrated and documented
  shown binding/connect/endpoint: authenticates before it reads the body
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-10 MUST: declared in the card with URI and URL
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
V1-BIND-11 SHOULD: interoperability tests, differences, examples
  because no custom binding of ours: Connect and gRPC-Web carry the gRPC service as it is, under a URI in the card
`;

/** Parses the rows of a table. Throws for an invalid line. */
export function readRequirements(text: string = table): readonly Requirement[] {
  const rows: { id: string; level: string; rule: string; shown: string[]; because: string[] }[] = [];
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const [, kind, value = ""] = /^ {2}(shown|because) (.+)$/.exec(line) ?? [];
    const [, id, level = "", rule = ""] = /^((?:V1|V03|IOP)-[A-Z\d-]+) ([A-Za-z /]+): (.+)$/.exec(line) ?? [];
    if (kind === "shown") rows.at(-1)?.shown.push(value);
    else if (kind === "because") rows.at(-1)?.because.push(value);
    else if (id !== undefined) rows.push({ id, level, rule, shown: [], because: [] });
    else throw new Error(`no row of the table: ${line}`);
  }
  return rows;
}
