// The requirements of 0.3.0 on agents and clients, and of serving it beside 1.0 (IOP). Tests cite them as in `requirements.ts`.
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
V03-CARD-2 MUST: the card has version of the protocol, name, description, URL, version, capabilities, modes and skills
V03-CARD-3 MUST: the preferred transport is named
V03-CARD-4 MUST: the main URL answers in the preferred transport
V03-CARD-5 MUST: each further interface names the transport that its URL answers in
V03-CARD-6 SHOULD: the further interfaces repeat the main one, and have all transports
V03-CARD-7 SHOULD: one URL for each interface
V03-CARD-8 MUST: no URL stands under two transports
V03-CARD-9 MUST: one transport at least is named
V03-CARD-10 MUST: every transport that there is is named
V03-CARD-11 SHOULD: transports have their three known names
V03-CARD-12 MUST: a skill has id, name, description and tags
V03-CARD-13 MUST: a security scheme has its type, and what that needs
V03-CARD-14 MUST: a card with sensitive content is protected
  because the public card is for everybody: what is not goes into the extended one
V03-CARD-15 SHOULD: no secret stands in the clear in a card
  because the agent's author decides what stands in it: no option of the card takes a secret
V03-CARD-16 MUST: a signature has its protected header and its value
V03-CARD-17 WISE: a card without preferred transport means JSON-RPC, and members that nobody knows are ignored

V03-DISC-1 SHOULD: the card lies at its well-known path, as JSON
V03-DISC-2 WISE: a client that finds nothing there tries the older path

V03-TRANS-1 MUST: HTTP, and TLS in production
V03-TRANS-2 MUST: one of the three transports at least
V03-TRANS-3 MUST: the same operations, results, errors and authentication over every transport
V03-TRANS-4 MUST: methods and paths are those of the specification
V03-TRANS-5 MUST: methods of extensions have names of their own
  because there are none: an agent has the methods of the protocol alone
V03-TRANS-6 SHOULD: TLS 1.3 or later
  because Node chooses the newest that both sides have; whoever runs the server may ask for it in its TLS options
V03-TRANS-7 SHOULD: clients verify the server's certificate

V03-RPC-1 MUST: JSON-RPC 2.0, and it says so
V03-RPC-2 MUST: POST of JSON, answered in JSON
V03-RPC-3 MUST: the answer has the id of the request; null where that cannot be read
V03-RPC-4 MUST: exactly one of result and error
V03-RPC-5 MUST: sending, reading and canceling are there
V03-RPC-6 MUST: a method that is none is -32601
V03-RPC-7 MUST: broken JSON is -32700, what is no request -32600, wrong params -32602
V03-RPC-8 SHOULD: a client's ids are text or whole numbers
V03-RPC-9 WISE: the body of an answer is read whatever its HTTP status
V03-RPC-10 WISE: a batch is -32600
V03-RPC-11 MUST: all params are validated

V03-MSG-1 MUST: a message has kind, id, role and parts
V03-MSG-2 MUST: a part is one of text, file and data, and says which
V03-MSG-3 MUST: a file has either bytes or a URI
V03-MSG-4 MUST: data is an object
V03-MSG-5 WISE: messages without kind, and parts that call it type, are read

V03-SEND-1 MUST: the result is a task or a message
V03-SEND-2 MUST: the server makes the ids of tasks and contexts
V03-SEND-3 MUST: a message to a task that has ended fails, and the task stays ended
V03-SEND-4 MUST: a message that names no task that there is is -32001
V03-SEND-5 WISE: a send waits unless it says not to
V03-SEND-6 SHOULD: historyLength gives the last messages alone
V03-SEND-7 SHOULD: output modes that cannot be met are -32005
  because the agent's author decides: it reads turn.configuration.acceptedOutputModes, and may throw the error
V03-SEND-8 WISE: a client always says whether to wait

V03-TASK-1 MUST: a task has kind, id, context and status
V03-TASK-2 MUST: states have the nine words
V03-TASK-3 MUST: reading a task that there is not is -32001
V03-TASK-4 MUST: canceling a task that has ended is -32002
V03-TASK-5 SHOULD: canceling answers with the task as it is then
V03-TASK-6 MUST: an artifact has its id and parts
V03-TASK-7 SHOULD: what the work has made is in artifacts
  because the agent's author decides what it says as an artifact

V03-SSE-1 MUST: a stream is 200 and text/event-stream, each event a JSON-RPC response
V03-SSE-2 MUST: each event has the id of the request
V03-SSE-3 MUST: an event is a message, a task, a status update or an artifact update
V03-SSE-4 MUST: a status update has final, which is true for the last event
V03-SSE-5 SHOULD: the connection ends behind it
V03-SSE-6 MUST: chunks of an artifact share its id, and say append and lastChunk
V03-SSE-7 MUST: streams that are not declared are -32004
V03-SSE-8 WISE: a stream of a task begins with it
V03-SSE-9 WISE: data stands on one line
V03-SSE-10 WISE: a client reads data on many lines, comments, other fields and any line ends
V03-SSE-11 WISE: a client ends at final, or at the end of the stream
V03-SSE-12 WISE: a client takes a plain JSON error for an answer to a streaming request
V03-SSE-13 MAY: a subscription gives what was missed again
V03-SSE-14 WISE: a subscription begins with the task; one to a task that has ended gives it and ends

V03-REST-1 MUST: verbs and paths are those of the specification
V03-REST-2 MUST: bodies are application/json
V03-REST-3 MUST: errors have fitting HTTP status and one form
V03-REST-4 MUST: streams are server-sent events of the schema's response
V03-REST-5 WISE: bodies are the JSON of the 0.3.0 schema
V03-REST-6 WISE: both names of the message, both cases, both verbs of a subscription and empty bodies are read
V03-REST-7 WISE: a client takes any 2xx for success, and both forms of a list of configurations
V03-REST-8 WISE: a send and a new configuration are answered with 200

V03-GRPC-1 MUST: the service of the schema with all its RPCs
V03-GRPC-2 MUST: TLS is supported
V03-GRPC-3 MUST: errors of the protocol have a gRPC status
V03-GRPC-4 MUST: names in JSON are those that the schema gives
V03-GRPC-5 MUST: tasks and configurations are named by their resource names
V03-GRPC-6 WISE: the text of a status begins with the name of the error, and its details say the reason

V03-PUSH-1 MUST: the four methods work where push is declared, and are -32003 where it is not
V03-PUSH-2 MUST: setting one needs its task and its URL
V03-PUSH-3 MUST: the list has all of a task; a delete is answered with null
V03-PUSH-4 SHOULD: the token comes back in its header
V03-PUSH-5 MUST: the agent authenticates to the webhook as it was told
V03-PUSH-6 SHOULD: addresses of webhooks are checked
V03-PUSH-7 SHOULD: a webhook verifies who calls and the token, and then reads the task
  because a webhook is a program of the caller's own, which no part of the framework is
V03-PUSH-8 WISE: the body is the bare task
V03-PUSH-9 WISE: a configuration without an id has that of its task; one that there is not is -32001

V03-CARDX-1 MUST: a client authenticates for the extended card
V03-CARDX-2 SHOULD: 401 carries the challenge
V03-CARDX-3 MUST: one that is declared and not there is -32007
V03-CARDX-4 SHOULD: it takes the place of the public card

V03-AUTH-1 MUST: every request is authenticated as the card says
V03-AUTH-2 SHOULD: 401 and 403, with the challenge
V03-AUTH-3 MUST: no identity in payloads
V03-AUTH-4 SHOULD: further credentials are asked for by auth-required, with a message that says which
  because the agent's author says what it needs
V03-AUTH-5 MUST: a client has a method of authentication at least

V03-EXT-1 MUST: an extension is off unless X-A2A-Extensions asks for it
V03-EXT-2 SHOULD: unknown ones are ignored, and the active ones named in the answer
V03-EXT-3 MUST: a breaking change has a URI of its own, and no version stands in for another
V03-EXT-4 MUST: methods of extensions are authenticated as well
  because there are none: an agent has the methods of the protocol alone

V03-ERR-1 MUST: errors have their numbers
V03-ERR-2 MUST: a client knows every one of them
V03-ERR-3 SHOULD: numbers of one's own are documented
  because we have the two by which the Go servers of that time refuse callers, and -32008 and -32009 of 1.0
V03-ERR-4 WISE: data is an object, or not there

V03-CLI-1 MUST: a client has a transport, and reads cards
V03-CLI-2 MUST: it calls a transport at the URL that the card gives for it
V03-CLI-3 SHOULD: it prefers the main one, and falls back to others
V03-CLI-4 MUST: it builds requests to send and to read

IOP-1 WISE: the version of a JSON-RPC call is told by its method
IOP-2 MUST: no A2A-Version, or an empty one, means 0.3
  because outside of strict mode a caller of a method, path or service of 1.0 who declares nothing is answered in 1.0
IOP-3 WISE: that of an HTTP call is told by the header, else by its path below the mount
IOP-4 WISE: that of a gRPC call is told by its service
IOP-5 WISE: the members of 0.3 in the card list interfaces of 0.3 alone
IOP-6 WISE: interfaces of 1.0 count before the members of 0.3, an empty list of them does not
IOP-7 WISE: a webhook is told in the version in which it was registered
IOP-8 WISE: from 1.0 to 0.3 and back nothing changes but what 0.3 cannot say
IOP-9 WISE: final is true once, also when the stream just ends
IOP-10 WISE: versions are compared by their first two numbers
IOP-11 WISE: data that is no object travels wrapped under a flag
IOP-12 WISE: bytes of files are read in both forms, and written in the one that is set
`;
