package main

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"trivium.example/interop/old/speak"
)

var transports = map[string]a2a.TransportProtocol{
	"JSONRPC": a2a.TransportProtocolJSONRPC,
	"GRPC":    a2a.TransportProtocolGRPC,
}

// The agents as the SDK reaches them over one binding.
type peer struct {
	overProto bool
	transport a2a.TransportProtocol
	card      *a2a.AgentCard
	full      *a2aclient.Client
	plain     *a2aclient.Client
	guarded   *a2aclient.Client
	// What the plain agent publishes.
	plainCard *a2a.AgentCard
}

func newPeer(ctx context.Context, options speak.Options) (*peer, error) {
	p := &peer{overProto: options.Binding == "GRPC", transport: transports[options.Binding]}
	var err error
	if p.card, err = agentcard.DefaultResolver.Resolve(ctx, options.URL); err != nil {
		return nil, err
	}
	if p.plainCard, err = agentcard.DefaultResolver.Resolve(ctx, options.Plain); err != nil {
		return nil, err
	}
	if p.full, err = p.connect(ctx, p.card); err != nil {
		return nil, err
	}
	if p.plain, err = p.connect(ctx, p.plainCard); err != nil {
		return nil, err
	}
	guardedCard, err := agentcard.DefaultResolver.Resolve(ctx, options.Guarded)
	if err != nil {
		return nil, err
	}
	p.guarded, err = p.connect(ctx, guardedCard)
	return p, err
}

func (p *peer) connect(ctx context.Context, card *a2a.AgentCard) (*a2aclient.Client, error) {
	return a2aclient.NewFromCard(
		ctx,
		card,
		a2aclient.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{p.transport}}),
		a2aclient.WithInterceptors(headers{}),
	)
}

// believing gives a client of the plain agent that believes a card other than the published one.
func (p *peer) believing(ctx context.Context, change func(*a2a.AgentCard)) *a2aclient.Client {
	card := *p.plainCard
	change(&card)
	return speak.Must(p.connect(ctx, &card))
}

type headersKey struct{}

// with makes the calls of a context carry a header, or a gRPC metadata key.
func with(ctx context.Context, name, value string) context.Context {
	return context.WithValue(ctx, headersKey{}, a2aclient.CallMeta{name: {value}})
}

// as makes the calls of a context those of an owner.
func as(ctx context.Context, owner string) context.Context {
	return with(ctx, "authorization", owner)
}

type headers struct {
	a2aclient.PassthroughInterceptor
}

func (headers) Before(ctx context.Context, request *a2aclient.Request) (context.Context, error) {
	if meta, ok := ctx.Value(headersKey{}).(a2aclient.CallMeta); ok {
		for name, values := range meta {
			request.Meta.Append(name, values...)
		}
	}
	return ctx, nil
}

func fails[T any](wanted error) func(T, error) {
	return func(value T, err error) {
		speak.Check(err != nil, "no error %q but %+v", wanted, value)
		speak.Check(errors.Is(err, wanted), "%v is not the error %q", err, wanted)
	}
}

// send makes a request with a text; `change` sets whatever else it has.
func send(text string, change ...func(*a2a.MessageSendParams)) *a2a.MessageSendParams {
	return sendParts(a2a.ContentParts{a2a.TextPart{Text: text}}, change...)
}

func sendParts(parts a2a.ContentParts, change ...func(*a2a.MessageSendParams)) *a2a.MessageSendParams {
	request := &a2a.MessageSendParams{Message: a2a.NewMessage(a2a.MessageRoleUser, parts...)}
	for _, each := range change {
		each(request)
	}
	return request
}

func toTask(id a2a.TaskID) func(*a2a.MessageSendParams) {
	return func(request *a2a.MessageSendParams) { request.Message.TaskID = id }
}

func inContext(id string) func(*a2a.MessageSendParams) {
	return func(request *a2a.MessageSendParams) { request.Message.ContextID = id }
}

func immediately(request *a2a.MessageSendParams) {
	blocking := false
	request.Config = &a2a.MessageSendConfig{Blocking: &blocking}
}

func collect(events iter.Seq2[a2a.Event, error]) ([]a2a.Event, error) {
	var all []a2a.Event
	for event, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, event)
	}
	return all, nil
}

// taskOf sends a request that is answered by a task.
func taskOf(ctx context.Context, client *a2aclient.Client, request *a2a.MessageSendParams) *a2a.Task {
	answer := speak.Must(client.SendMessage(ctx, request))
	task, ok := answer.(*a2a.Task)
	speak.Check(ok, "%+v is no task", answer)
	return task
}

// messageOf sends a request that is answered by a message.
func messageOf(ctx context.Context, client *a2aclient.Client, request *a2a.MessageSendParams) *a2a.Message {
	answer := speak.Must(client.SendMessage(ctx, request))
	message, ok := answer.(*a2a.Message)
	speak.Check(ok, "%+v is no message", answer)
	return message
}

// waiting starts a task that waits for a message, and gives it back while it runs.
func waiting(ctx context.Context, client *a2aclient.Client) *a2a.Task {
	task := taskOf(ctx, client, send("wait", immediately))
	speak.Check(isOpen(task.Status), "the task is %s", task.Status.State)
	return task
}

func getTask(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) *a2a.Task {
	return speak.Must(client.GetTask(ctx, &a2a.TaskQueryParams{ID: id}))
}

func cancel(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) *a2a.Task {
	return speak.Must(client.CancelTask(ctx, &a2a.TaskIDParams{ID: id}))
}

func isOpen(status a2a.TaskStatus) bool {
	return status.State == a2a.TaskStateSubmitted || status.State == a2a.TaskStateWorking
}

func textOf(parts []a2a.Part) string {
	var text strings.Builder
	for _, part := range parts {
		if each, ok := part.(a2a.TextPart); ok {
			text.WriteString(each.Text)
		}
	}
	return text.String()
}

// statesOf gives the states of a stream: only the last status update may be final, and it has to be.
func statesOf(events []a2a.Event) []a2a.TaskState {
	var states []a2a.TaskState
	for index, event := range events {
		update, ok := event.(*a2a.TaskStatusUpdateEvent)
		if !ok {
			continue
		}
		states = append(states, update.Status.State)
		speak.Check(update.Final == (index == len(events)-1), "event %d of %d has final %t", index, len(events), update.Final)
	}
	_, ok := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
	speak.Check(ok, "the stream ends with %+v", events[len(events)-1])
	return states
}

func lastState(events []a2a.Event) a2a.TaskState {
	states := statesOf(events)
	return states[len(states)-1]
}
