package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
)

// The agents as the SDK reaches them; it speaks JSON-RPC alone.
type peer struct {
	card    server.AgentCard
	full    *client.A2AClient
	plain   *client.A2AClient
	guarded *client.A2AClient
}

func newPeer(ctx context.Context, options speak.Options) (*peer, error) {
	card, err := readCard(ctx, options.URL)
	if err != nil {
		return nil, err
	}
	plainCard, err := readCard(ctx, options.Plain)
	if err != nil {
		return nil, err
	}
	p := &peer{card: card}
	if p.full, err = connect(card); err != nil {
		return nil, err
	}
	if p.plain, err = connect(plainCard); err != nil {
		return nil, err
	}
	guardedCard, err := readCard(ctx, options.Guarded)
	if err != nil {
		return nil, err
	}
	p.guarded, err = connect(guardedCard)
	return p, err
}

// readCard reads a card with the types of the SDK, whose client reads none.
func readCard(ctx context.Context, base string) (card server.AgentCard, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+protocol.AgentCardPath, nil)
	if err != nil {
		return card, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return card, err
	}
	defer response.Body.Close()
	return card, json.NewDecoder(response.Body).Decode(&card)
}

func connect(card server.AgentCard) (*client.A2AClient, error) {
	return client.NewA2AClient(card.URL, client.WithHTTPReqHandler(headers{}))
}

type headerKey struct{}

type header struct{ name, value string }

// with makes the calls of a context carry a header.
func with(ctx context.Context, name, value string) context.Context {
	return context.WithValue(ctx, headerKey{}, header{name, value})
}

// as makes the calls of a context those of an owner.
func as(ctx context.Context, owner string) context.Context {
	return with(ctx, "Authorization", owner)
}

type headers struct{}

func (headers) Handle(ctx context.Context, by *http.Client, request *http.Request) (*http.Response, error) {
	if own, ok := ctx.Value(headerKey{}).(header); ok {
		request.Header.Set(own.name, own.value)
	}
	return by.Do(request)
}

// fails wants an error with a code of the protocol. The SDK tells the code in words only.
func fails(code int, err error) {
	speak.Check(err != nil, "no error %d", code)
	speak.Check(strings.Contains(err.Error(), fmt.Sprintf("jsonrpc error %d:", code)), "%v is not the error %d", err, code)
}

// send names a new task and makes a request with a text.
func send(text string, change ...func(*protocol.SendTaskParams)) protocol.SendTaskParams {
	return sendParts([]protocol.Part{protocol.NewTextPart(text)}, change...)
}

func sendParts(parts []protocol.Part, change ...func(*protocol.SendTaskParams)) protocol.SendTaskParams {
	request := protocol.SendTaskParams{ID: uuid.NewString(), Message: protocol.NewMessage(protocol.MessageRoleUser, parts)}
	for _, each := range change {
		each(&request)
	}
	return request
}

func toTask(id string) func(*protocol.SendTaskParams) {
	return func(request *protocol.SendTaskParams) { request.ID = id }
}

func inSession(id string) func(*protocol.SendTaskParams) {
	return func(request *protocol.SendTaskParams) { request.SessionID = &id }
}

// collect reads a stream to its end: the SDK closes the channel there.
func collect(events <-chan protocol.TaskEvent) []protocol.TaskEvent {
	var all []protocol.TaskEvent
	for event := range events {
		all = append(all, event)
	}
	return all
}

func stream(ctx context.Context, client *client.A2AClient, request protocol.SendTaskParams) []protocol.TaskEvent {
	return collect(speak.Must(client.StreamTask(ctx, request)))
}

// waiting streams a task up to the event that says that the agent is at work, and gives back what follows.
func waiting(ctx context.Context, client *client.A2AClient) (string, <-chan protocol.TaskEvent) {
	request := send("wait")
	events := speak.Must(client.StreamTask(ctx, request))
	for event := range events {
		if stateOf(event) == protocol.TaskStateWorking {
			return request.ID, events
		}
	}
	panic("the stream ended before the agent was at work")
}

func stateOf(event protocol.TaskEvent) protocol.TaskState {
	if update, ok := event.(protocol.TaskStatusUpdateEvent); ok {
		return update.Status.State
	}
	return ""
}

// statesOf gives the states of a stream: only the last event may be final, and it has to be.
func statesOf(events []protocol.TaskEvent) []protocol.TaskState {
	var states []protocol.TaskState
	for index, event := range events {
		if update, ok := event.(protocol.TaskStatusUpdateEvent); ok {
			states = append(states, update.Status.State)
			speak.Check(update.Final == (index == len(events)-1), "event %d of %d: final %t", index, len(events), update.Final)
		}
	}
	speak.Check(len(events) > 0 && events[len(events)-1].IsFinal(), "the stream ends without a final event: %+v", events)
	return states
}

func streamed(events []protocol.TaskEvent) string {
	var text strings.Builder
	for _, event := range events {
		if update, ok := event.(protocol.TaskArtifactUpdateEvent); ok {
			text.WriteString(textOf(update.Artifact.Parts))
		}
	}
	return text.String()
}

func textOf(parts []protocol.Part) string {
	var text strings.Builder
	for _, part := range parts {
		switch each := part.(type) {
		case protocol.TextPart:
			text.WriteString(each.Text)
		case *protocol.TextPart:
			text.WriteString(each.Text)
		}
	}
	return text.String()
}
