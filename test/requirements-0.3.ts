// The requirements of 0.3.0 on agents and clients, and of serving it beside 1.0 (IOP), with the tests that show them.
// MUST, SHOULD and MAY are the specification's. WISE marks what the specification leaves open but the clients and
// servers of that time rely on.

/** Numbers of the rows in each chapter, so that none gets lost. */
export const numbers03: Readonly<Record<string, string>> = {
  "V03-CARD": "1-17",
  "V03-DISC": "1-2",
  "V03-TRANS": "1-7",
  "V03-RPC": "1-11",
  "V03-MSG": "1-5",
  "V03-SEND": "1-8",
  "V03-TASK": "1-7",
  "V03-SSE": "1-14",
  "V03-REST": "1-8",
  "V03-GRPC": "1-6",
  "V03-PUSH": "1-9",
  "V03-CARDX": "1-4",
  "V03-AUTH": "1-5",
  "V03-EXT": "1-4",
  "V03-ERR": "1-4",
  "V03-CLI": "1-4",
  IOP: "1-12",
};

export const table03 = `
V03-CARD-1 MUST: an agent serves a card
  shown version/v0.3/required-card: every place in the card answers
  shown card/endpoint: serves the card at %s
V03-CARD-2 MUST: the card has version of the protocol, name, description, URL, version, capabilities, modes and skills
  shown version/v0.3/required-card: the card has every member that 0.3 requires, whatever its author has left out
  shown version/v0.3/card: has its required members even when they are empty
V03-CARD-3 MUST: the preferred transport is named
  shown version/v0.3/required-card: the card has every member that 0.3 requires, whatever its author has left out
V03-CARD-4 MUST: the main URL answers in the preferred transport
  shown version/v0.3/required-card: every place in the card answers
V03-CARD-5 MUST: each further interface names the transport that its URL answers in
  shown version/v0.3/required-card: every place in the card answers
V03-CARD-6 SHOULD: the further interfaces repeat the main one, and have all transports
  shown version/v0.3/required-card: every place in the card answers
V03-CARD-7 SHOULD: one URL for each interface
  shown version/v0.3/required-card: every place in the card answers
V03-CARD-8 MUST: no URL stands under two transports
  shown version/v0.3/required-card: every place in the card answers
  shown card/check-addresses: finds %s
V03-CARD-9 MUST: one transport at least is named
  shown version/v0.3/card: does not exist for an agent that has no such interface
  shown card/publish: refuses to be mounted where no reader of an older version
V03-CARD-10 MUST: every transport that there is is named
  shown e2e/card: the card lists every active binding at its real URL, in order of preference
V03-CARD-11 SHOULD: transports have their three known names
  shown version/v0.3/required-card: every place in the card answers
V03-CARD-12 MUST: a skill has id, name, description and tags
  shown version/v0.3/required-card: the card has every member that 0.3 requires, whatever its author has left out
  shown card/check: finds %s
V03-CARD-13 MUST: a security scheme has its type, and what that needs
  shown version/v0.3/security: %j is read and written
  shown version/v0.3/security: is written without what 0.3 does not know of flows, and with what it requires
V03-CARD-14 MUST: a card with sensitive content is protected
  shown e2e/card: an anonymous caller cannot see the extended card
  because the public card is for everybody: what is not goes into the extended one
V03-CARD-15 SHOULD: no secret stands in the clear in a card
  because the agent's author decides what stands in it: no option of the card takes a secret
V03-CARD-16 MUST: a signature has its protected header and its value
  shown version/v0.3/card: does not carry signatures, which are over another form
V03-CARD-17 WISE: a card without preferred transport means JSON-RPC, and members that nobody knows are ignored
  shown version/v0.3/card: is read into the facts of the model
  shown version/v0.3/card: is read without the members of a wrong type

V03-DISC-1 SHOULD: the card lies at its well-known path, as JSON
  shown version/v0.3/required-card: every place in the card answers
  shown card/endpoint: serves the card at %s
V03-DISC-2 WISE: a client that finds nothing there tries the older path
  shown client/card/discovery-versions: %s, at the path its agents use

V03-TRANS-1 MUST: HTTP, and TLS in production
  shown e2e/card: calls work over TLS, and the card lists https URLs
  shown protocol/may-send-secret: a secret may go to %s only when plaintext is allowed
V03-TRANS-2 MUST: one of the three transports at least
  shown version/v0.3/required-card: an agent of one transport names that one
V03-TRANS-3 MUST: the same operations, results, errors and authentication over every transport
  shown e2e/sends/sending: parts that every version can carry reach the agent and the caller unchanged
  shown e2e/sends/task-after: %s thrown before the first event is the answer
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
  shown server/versions: made over %s, seen over every other
V03-TRANS-4 MUST: methods and paths are those of the specification
  shown version/v0.3/wire-examples: $id $method is read and written back
  shown version/v0.3/http-json: are those of the schema, except for the misspelt one
  shown version/v0.3/grpc: has every RPC of the service
V03-TRANS-5 MUST: methods of extensions have names of their own
  because there are none: an agent has the methods of the protocol alone
V03-TRANS-6 SHOULD: TLS 1.3 or later
  because Node chooses the newest that both sides have; whoever runs the server may ask for it in its TLS options
V03-TRANS-7 SHOULD: clients verify the server's certificate
  shown binding/fetch/node-fetch: at a server with a certificate %s
  shown binding/grpc/connecting: at a server %s

V03-RPC-1 MUST: JSON-RPC 2.0, and it says so
  shown version/v0.3/required-client: has an integer id, its method, and is sent as JSON in its own POST
  shown e2e/bad-input/older-versions: refuses a body of %s
V03-RPC-2 MUST: POST of JSON, answered in JSON
  shown version/v0.3/required-client: has an integer id, its method, and is sent as JSON in its own POST
  shown e2e/bad-input/bodies: does not execute a body of type %s from any origin
V03-RPC-3 MUST: the answer has the id of the request; null where that cannot be read
  shown e2e/bad-input/older-versions: answers a text id with the same id, also in an error
  shown e2e/bad-input/older-versions: refuses a batch as a whole
V03-RPC-4 MUST: exactly one of result and error
  shown e2e/bad-input/older-versions: refuses %s, and names it
V03-RPC-5 MUST: sending, reading and canceling are there
  shown version/v0.3/json-rpc: answers a send with the task or the message, bare
  shown version/v0.3/json-rpc: cancels, and reports what cannot be canceled
V03-RPC-6 MUST: a method that is none is -32601
  shown e2e/bad-input/older-versions: knows no method %j
V03-RPC-7 MUST: broken JSON is -32700, what is no request -32600, wrong params -32602
  shown version/v0.3/json-rpc-errors: half a request is -32602
  shown version/v0.3/json-rpc-errors: %s is answered with %i, without data
  shown e2e/bad-input/older-versions: refuses a body of %s
V03-RPC-8 SHOULD: a client's ids are text or whole numbers
  shown version/v0.3/required-client: has an integer id, its method, and is sent as JSON in its own POST
V03-RPC-9 WISE: the body of an answer is read whatever its HTTP status
  shown version/v0.3/required-client: is read from its body, with HTTP status %i
V03-RPC-10 WISE: a batch is -32600
  shown e2e/bad-input/older-versions: refuses a batch as a whole
V03-RPC-11 MUST: all params are validated
  shown e2e/bad-input/older-versions: refuses %s, and names it
  shown e2e/tasks/push-config: an address that no webhook has is refused and named

V03-MSG-1 MUST: a message has kind, id, role and parts
  shown version/v0.3/required-client: has a message with its kind
  shown version/v0.3/json-rpc-errors: a message without messageId is refused, and the field named
  shown version/v0.3/grpc: refuses %s %j: %s
V03-MSG-2 MUST: a part is one of text, file and data, and says which
  shown version/v0.3/required-client: has a message with its kind
  shown e2e/bad-input/older-versions: refuses %s, and names it
V03-MSG-3 MUST: a file has either bytes or a URI
  shown e2e/bad-input/older-versions: a file of 0.3 with %s is refused
V03-MSG-4 MUST: data is an object
  shown version/v0.3/json/codec: is wrapped under a flag and unwrapped again: data %j
  shown e2e/bad-input/older-versions: refuses %s, and names it
V03-MSG-5 WISE: messages without kind, and parts that call it type, are read
  shown version/v0.3/json/requests: a message without kind
  shown version/v0.3/json/requests: parts that name their kind as type

V03-SEND-1 MUST: the result is a task or a message
  shown version/v0.3/json-rpc: answers a send with the task or the message, bare
V03-SEND-2 MUST: the server makes the ids of tasks and contexts
  shown e2e/sends/sending: each task gets its own id, even if the same message is sent twice
  shown e2e/sends/sending: a context id chosen by the caller is kept, and a missing one is generated
V03-SEND-3 MUST: a message to a task that has ended fails, and the task stays ended
  shown version/v0.3/json-rpc-errors: a message to a task that has ended is -32004
  shown e2e/tasks/busy-task: a message that the task has not taken when it ends is refused, however it was sent
V03-SEND-4 MUST: a message that names no task that there is is -32001
  shown e2e/sends/sending: an unknown task id is not found, because callers do not choose ids
V03-SEND-5 WISE: a send waits unless it says not to
  shown version/v0.3/json-rpc: waits unless blocking is off
  shown version/v0.3/http-json: waits for the task or not: %s
V03-SEND-6 SHOULD: historyLength gives the last messages alone
  shown version/v0.3/json-rpc: cuts the history to the requested length
V03-SEND-7 SHOULD: output modes that cannot be met are -32005
  shown e2e/sends/sending: parts that every version can carry reach the agent and the caller unchanged
  because the agent's author decides: it reads turn.configuration.acceptedOutputModes, and may throw the error
V03-SEND-8 WISE: a client always says whether to wait
  shown version/v0.3/required-client: sends whether to wait, whatever its caller has set: %j
  shown version/v0.3/http-json-client: sends its version, whether to wait, and only what 0.3 knows

V03-TASK-1 MUST: a task has kind, id, context and status
  shown version/v0.3/json-rpc: answers a send with the task or the message, bare
  shown version/v0.3/wire-examples: $id $method is read and written back
V03-TASK-2 MUST: states have the nine words
  shown version/v0.3/json/codec: is unknown: a state that it has no word for
  shown version/v0.3/json/replies: the state %j
V03-TASK-3 MUST: reading a task that there is not is -32001
  shown version/v0.3/required-card: every place in the card answers
  shown e2e/sends/streaming: a subscription to a finished task returns only that task, and to an unknown one not found
V03-TASK-4 MUST: canceling a task that has ended is -32002
  shown version/v0.3/json-rpc: cancels, and reports what cannot be canceled
  shown e2e/tasks/canceling: an ended or canceled task is not cancelable, and an unknown task is not found
V03-TASK-5 SHOULD: canceling answers with the task as it is then
  shown version/v0.3/json-rpc: cancels, and reports what cannot be canceled
V03-TASK-6 MUST: an artifact has its id and parts
  shown version/v0.3/json/codec: survives the round trip: tasks
  shown e2e/sends/streaming: the stream of a task begins with the task
V03-TASK-7 SHOULD: what the work has made is in artifacts
  shown e2e/sends/sending: any other event makes a task, which is returned whole when it ends
  because the agent's author decides what it says as an artifact

V03-SSE-1 MUST: a stream is 200 and text/event-stream, each event a JSON-RPC response
  shown version/v0.3/json-rpc: streams the task first, and marks its end once
V03-SSE-2 MUST: each event has the id of the request
  shown version/v0.3/json-rpc: streams the task first, and marks its end once
V03-SSE-3 MUST: an event is a message, a task, a status update or an artifact update
  shown version/v0.3/json-rpc: streams the task first, and marks its end once
  shown version/v0.3/json-rpc: streams a direct answer as one message
V03-SSE-4 MUST: a status update has final, which is true for the last event
  shown version/v0.3/json/stream: with the terminal state %i
  shown version/v0.3/json/stream: by one more status with the last one known
V03-SSE-5 SHOULD: the connection ends behind it
  shown version/v0.3/json-rpc: ends the stream of a send with its question, and continues with the answer
V03-SSE-6 MUST: chunks of an artifact share its id, and say append and lastChunk
  shown e2e/sends/streaming: the stream of a task begins with the task
V03-SSE-7 MUST: streams that are not declared are -32004
  shown version/v0.3/json-rpc-errors: streams that are switched off are -32004
V03-SSE-8 WISE: a stream of a task begins with it
  shown version/v0.3/json-rpc: streams the task first, and marks its end once
V03-SSE-9 WISE: data stands on one line
  shown binding/http/streams: is written line by line in the form that every known reader accepts
V03-SSE-10 WISE: a client reads data on many lines, comments, other fields and any line ends
  shown version/v0.3/required-client: a stream may have lines of any kind
V03-SSE-11 WISE: a client ends at final, or at the end of the stream
  shown version/v0.3/grpc-client: reads an error by its name, ends a stream that is left open, and writes files as the server does
  shown version/v0.3/json/stream: after %s: over is %j
V03-SSE-12 WISE: a client takes a plain JSON error for an answer to a streaming request
  shown version/v0.3/required-client: that is one JSON object is the failure of a stream as well
V03-SSE-13 MAY: a subscription gives what was missed again
  shown version/v0.3/json-rpc: resumes after an event that the caller names
  shown e2e/sends/resuming: a subscription with an event id gets exactly the later events, even after the task ended
V03-SSE-14 WISE: a subscription begins with the task; one to a task that has ended gives it and ends
  shown version/v0.3/json-rpc: gives an ended task to callers that resume it, and marks the end
  shown e2e/sends/streaming: a subscription to a finished task returns only that task, and to an unknown one not found

V03-REST-1 MUST: verbs and paths are those of the specification
  shown version/v0.3/http-json: are those of the schema, except for the misspelt one
  shown version/v0.3/http-json: also have the subscription by POST, as in the specification, and new webhooks where all peers have them
V03-REST-2 MUST: bodies are application/json
  shown version/v0.3/http-json-errors: has the body of E22, which all clients read
  shown e2e/bad-input/older-versions: GET %s is answered as the caller's error
V03-REST-3 MUST: errors have fitting HTTP status and one form
  shown version/v0.3/http-json-errors: answers %s %j with %i and %i
V03-REST-4 MUST: streams are server-sent events of the schema's response
  shown version/v0.3/http-json: streams events as E20 shows them
V03-REST-5 WISE: bodies are the JSON of the 0.3.0 schema
  shown version/v0.3/http-json: answers a message with a task as E18 shows it
  shown version/v0.3/proto/messages: survives the JSON of 0.3, with files in %s
V03-REST-6 WISE: both names of the message, both cases, both verbs of a subscription and empty bodies are read
  shown version/v0.3/http-json: takes %s
  shown version/v0.3/http-json: subscribes by %s with body %j
  shown version/v0.3/http-json-snake: answers a message with the task itself
V03-REST-7 WISE: a client takes any 2xx for success, and both forms of a list of configurations
  shown version/v0.3/http-json-client: takes status %i for a success
  shown version/v0.3/http-json-client: reads a list of webhooks: %j
V03-REST-8 WISE: a send and a new configuration are answered with 200
  shown version/v0.3/http-json: answers a message with a task as E18 shows it
  shown version/v0.3/http-json: are made of %s

V03-GRPC-1 MUST: the service of the schema with all its RPCs
  shown version/v0.3/grpc: has every RPC of the service
  shown e2e/sends/sending: parts that every version can carry reach the agent and the caller unchanged
V03-GRPC-2 MUST: TLS is supported
  shown binding/grpc/one-port: serves all of them in TLS, by ALPN
V03-GRPC-3 MUST: errors of the protocol have a gRPC status
  shown version/v0.3/grpc: refuses %s %j: %s
  shown e2e/sends/task-after: %s thrown before the first event is the answer
V03-GRPC-4 MUST: names in JSON are those that the schema gives
  shown version/v0.3/grpc: lists and describes the service by reflection, with the names that its schema gives
V03-GRPC-5 MUST: tasks and configurations are named by their resource names
  shown version/v0.3/grpc: keeps webhooks as E25 asks for them
  shown version/v0.3/grpc: answers a message, reads its task and refuses to cancel an ended one
V03-GRPC-6 WISE: the text of a status begins with the name of the error, and its details say the reason
  shown version/v0.3/grpc: identifies a missing task by name and by reason

V03-PUSH-1 MUST: the four methods work where push is declared, and are -32003 where it is not
  shown e2e/tasks/push-config: a configuration gets an id, is listed, and is returned without its credentials
  shown version/v0.3/json-rpc-push: are -32003 where there is no push: %s
V03-PUSH-2 MUST: setting one needs its task and its URL
  shown e2e/tasks/push-config: a missing address is refused, with the field named
  shown e2e/tasks/push-config: all four answer not found for an unknown task
V03-PUSH-3 MUST: the list has all of a task; a delete is answered with null
  shown version/v0.3/json-rpc-push: are listed as a bare array, and deleted with the answer null
V03-PUSH-4 SHOULD: the token comes back in its header
  shown push/dialect: is called with the media type of its version and one token header
V03-PUSH-5 MUST: the agent authenticates to the webhook as it was told
  shown push/delivery: carry the token and the credentials
V03-PUSH-6 SHOULD: addresses of webhooks are checked
  shown e2e/tasks/push-config: an address outside the allowed ones is refused
  shown push/retry: is resolved for each call, and refused when it is %s
V03-PUSH-7 SHOULD: a webhook verifies who calls and the token, and then reads the task
  because a webhook is a program of the caller's own, which no part of the framework is
V03-PUSH-8 WISE: the body is the bare task
  shown version/v0.3/wire-examples: E13 is what a webhook is sent
  shown push/dialect: gets the whole task, as it was then, whenever others get events
V03-PUSH-9 WISE: a configuration without an id has that of its task; one that there is not is -32001
  shown version/v0.3/json-rpc-push: without an id have that of their task
  shown version/v0.3/json-rpc-push: that are missing are -32001: %j

V03-CARDX-1 MUST: a client authenticates for the extended card
  shown client/card/discovery-versions: admits a caller with the secret
  shown client/card/discovery-extended: replaces the public card for an authorized caller, also after a refetch
V03-CARDX-2 SHOULD: 401 carries the challenge
  shown e2e/callers/who-is-asking: 401 comes with the challenge
V03-CARDX-3 MUST: one that is declared and not there is -32007
  shown e2e/card: an agent that declares none answers
  shown version/v0.3/grpc: reads the card for authenticated callers, and reports when there is none
V03-CARDX-4 SHOULD: it takes the place of the public card
  shown client/card/discovery-extended: replaces the public card for an authorized caller, also after a refetch

V03-AUTH-1 MUST: every request is authenticated as the card says
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
V03-AUTH-2 SHOULD: 401 and 403, with the challenge
  shown e2e/callers/who-is-asking: 401 comes with the challenge
  shown e2e/callers/who-is-asking: a caller without permission gets that error, and nothing is executed
V03-AUTH-3 MUST: no identity in payloads
  shown e2e/callers/who-is-asking: an anonymous caller is refused on every operation, and nothing is executed
  shown client/credentials: the agent receives %s, in each kind of call
V03-AUTH-4 SHOULD: further credentials are asked for by auth-required, with a message that says which
  shown e2e/sends/multi-turn: a task at AUTH_REQUIRED takes messages as well
  because the agent's author says what it needs
V03-AUTH-5 MUST: a client has a method of authentication at least
  shown client/credentials: the agent receives %s, in each kind of call

V03-EXT-1 MUST: an extension is off unless X-A2A-Extensions asks for it
  shown e2e/parameters: an extension is active only for a call that requests it, and unknown ones are ignored
V03-EXT-2 SHOULD: unknown ones are ignored, and the active ones named in the answer
  shown e2e/parameters: an extension is active only for a call that requests it, and unknown ones are ignored
  shown version/v0.3/json-rpc-errors: names the extensions that were activated as 0.3 does
V03-EXT-3 MUST: a breaking change has a URI of its own, and no version stands in for another
  shown e2e/parameters: a required extension that is not activated is refused by its name
V03-EXT-4 MUST: methods of extensions are authenticated as well
  because there are none: an agent has the methods of the protocol alone

V03-ERR-1 MUST: errors have their numbers
  shown version/v0.3/errors: has its number, its text and no data
V03-ERR-2 MUST: a client knows every one of them
  shown version/v0.3/required-client: with the number %i is %s
V03-ERR-3 SHOULD: numbers of one's own are documented
  because we have the two by which the Go servers of that time refuse callers, and -32008 and -32009 of 1.0
V03-ERR-4 WISE: data is an object, or not there
  shown version/v0.3/errors: has its number, its text and no data
  shown e2e/bad-input/older-versions: refuses %s, and names it

V03-CLI-1 MUST: a client has a transport, and reads cards
  shown client/card/negotiation-versions: is called over %s in %s
V03-CLI-2 MUST: it calls a transport at the URL that the card gives for it
  shown client/card/negotiation-versions: is called over %s in %s
V03-CLI-3 SHOULD: it prefers the main one, and falls back to others
  shown client/card/negotiation-versions: leads to the next older one: first a %s
  shown client/card/negotiation: %s leads to the next: first a %s
V03-CLI-4 MUST: it builds requests to send and to read
  shown version/v0.3/required-client: has an integer id, its method, and is sent as JSON in its own POST

IOP-1 WISE: the version of a JSON-RPC call is told by its method
  shown version/detect: %s with A2A-Version %s: %s, in strict mode %s
  shown server/version-detection: %s with A2A-Version %j is in %s, strictly in %s
IOP-2 MUST: no A2A-Version, or an empty one, means 0.3
  shown server/version-detection: %s with A2A-Version %j is in %s, strictly in %s
  because outside of strict mode a caller of a method, path or service of 1.0 who declares nothing is answered in 1.0
IOP-3 WISE: that of an HTTP call is told by the header, else by its path below the mount
  shown server/version-detection: %s with A2A-Version %s
  shown server/version-detection: a tenant named v1 is reached by callers that declare 1.0
IOP-4 WISE: that of a gRPC call is told by its service
  shown server/version-detection: the service of %s with a2a-version %s
IOP-5 WISE: the members of 0.3 in the card list interfaces of 0.3 alone
  shown card/union: lists the interfaces of 0.3 only for readers of 0.3, and all of them for readers of 1.0
IOP-6 WISE: interfaces of 1.0 count before the members of 0.3, an empty list of them does not
  shown version/detect-card: a card that %s is read as such
  shown client/card/discovery-versions: is read in both forms, and the newer one wins
IOP-7 WISE: a webhook is told in the version in which it was registered
  shown push/dialect: is called in the version of the latest configuration, whichever caller replaced it
IOP-8 WISE: from 1.0 to 0.3 and back nothing changes but what 0.3 cannot say
  shown version/v0.3/json/codec: survives the round trip: tasks
  shown version/v0.3/proto/messages: survives the model: %s
  shown version/v0.3/card-property: a card survives 0.3 and back, except for what 0.3 cannot express
IOP-9 WISE: final is true once, also when the stream just ends
  shown version/v0.3/json/stream: once only
  shown version/v0.3/json/stream: by one more status with the last one known
IOP-10 WISE: versions are compared by their first two numbers
  shown version/detect: %j is %s
  shown e2e/parameters: version %j is served in the form of 0.3, strictly too
IOP-11 WISE: data that is no object travels wrapped under a flag
  shown version/v0.3/json/codec: is wrapped under a flag and unwrapped again: data %j
  shown version/v0.3/proto/messages: is wrapped and marked: %j
IOP-12 WISE: bytes of files are read in both forms, and written in the one that is set
  shown version/v0.3/proto/bytes: are read as $form: $what
  shown version/v0.3/http-json: writes files as $fileBytes to callers that have sent none, when configured so
`;
