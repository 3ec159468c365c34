package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
)

// The agents as the SDK reaches them; it speaks JSON-RPC alone.
type peer struct {
	card    *server.AgentCard
	full    *client.A2AClient
	plain   *client.A2AClient
	guarded *client.A2AClient
}

func newPeer(ctx context.Context, options speak.Options) (*peer, error) {
	p := &peer{}
	var err error
	if p.card, p.full, err = connect(ctx, options.URL); err != nil {
		return nil, err
	}
	if _, p.plain, err = connect(ctx, options.Plain); err != nil {
		return nil, err
	}
	_, p.guarded, err = connect(ctx, options.Guarded)
	return p, err
}

// connect reads a card and makes a client of the place that it names.
func connect(ctx context.Context, url string) (*server.AgentCard, *client.A2AClient, error) {
	reader, err := client.NewA2AClient(url)
	if err != nil {
		return nil, nil, err
	}
	card, err := reader.GetAgentCard(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	caller, err := client.NewA2AClient(card.URL, client.WithHTTPReqHandler(headers{}))
	return card, caller, err
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

type change = func(*protocol.SendMessageParams)

// send makes a request with a text that waits for its answer; `change` sets whatever else it has.
func send(text string, change ...change) protocol.SendMessageParams {
	return sendParts([]protocol.Part{protocol.NewTextPart(text)}, change...)
}

func sendParts(parts []protocol.Part, change ...change) protocol.SendMessageParams {
	request := protocol.SendMessageParams{Message: protocol.NewMessage(protocol.MessageRoleUser, parts)}
	blocking(true)(&request)
	for _, each := range change {
		each(&request)
	}
	return request
}

func blocking(wanted bool) change {
	return func(request *protocol.SendMessageParams) {
		request.Configuration = &protocol.SendMessageConfiguration{AcceptedOutputModes: []string{}, Blocking: &wanted}
	}
}

func toTask(id string) change {
	return func(request *protocol.SendMessageParams) { request.Message.TaskID = &id }
}

func inContext(id string) change {
	return func(request *protocol.SendMessageParams) { request.Message.ContextID = &id }
}

func collect(events <-chan protocol.StreamingMessageEvent) []protocol.StreamingMessageResult {
	var all []protocol.StreamingMessageResult
	for event := range events {
		all = append(all, event.Result)
	}
	return all
}

func stream(ctx context.Context, client *client.A2AClient, request protocol.SendMessageParams) []protocol.StreamingMessageResult {
	return collect(speak.Must(client.StreamMessage(ctx, request)))
}

// taskOf sends a request that is answered by a task.
func taskOf(ctx context.Context, client *client.A2AClient, request protocol.SendMessageParams) *protocol.Task {
	answer := speak.Must(client.SendMessage(ctx, request))
	task, ok := answer.Result.(*protocol.Task)
	speak.Check(ok, "%+v is no task", answer.Result)
	return task
}

// messageOf sends a request that is answered by a message.
func messageOf(ctx context.Context, client *client.A2AClient, request protocol.SendMessageParams) *protocol.Message {
	answer := speak.Must(client.SendMessage(ctx, request))
	message, ok := answer.Result.(*protocol.Message)
	speak.Check(ok, "%+v is no message", answer.Result)
	return message
}

// waiting starts a task that waits for a message, and gives it back while it runs.
func waiting(ctx context.Context, client *client.A2AClient) *protocol.Task {
	task := taskOf(ctx, client, send("wait", blocking(false)))
	speak.Check(isOpen(task.Status), "the task is %s", task.Status.State)
	return task
}

func getTask(ctx context.Context, client *client.A2AClient, id string) *protocol.Task {
	return speak.Must(client.GetTasks(ctx, protocol.TaskQueryParams{ID: id}))
}

func cancel(ctx context.Context, client *client.A2AClient, id string) *protocol.Task {
	return speak.Must(client.CancelTasks(ctx, protocol.TaskIDParams{ID: id}))
}

func isOpen(status protocol.TaskStatus) bool {
	return status.State == protocol.TaskStateSubmitted || status.State == protocol.TaskStateWorking
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

// statesOf gives the states of a stream: only the last status update may be final, and it has to be.
func statesOf(events []protocol.StreamingMessageResult) []protocol.TaskState {
	var states []protocol.TaskState
	for index, event := range events {
		if update, ok := event.(*protocol.TaskStatusUpdateEvent); ok {
			states = append(states, update.Status.State)
			speak.Check(update.Final == (index == len(events)-1), "event %d of %d: final %t", index, len(events), update.Final)
		}
	}
	speak.Check(len(states) > 0, "the stream has no status: %+v", events)
	_, ok := events[len(events)-1].(*protocol.TaskStatusUpdateEvent)
	speak.Check(ok, "the stream ends with %+v", events[len(events)-1])
	return states
}

func lastState(events []protocol.StreamingMessageResult) protocol.TaskState {
	states := statesOf(events)
	return states[len(states)-1]
}
