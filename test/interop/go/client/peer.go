package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var bindingNames = map[string]a2a.TransportProtocol{
	"JSONRPC":   a2a.TransportProtocolJSONRPC,
	"HTTP+JSON": a2a.TransportProtocolHTTPJSON,
	"GRPC":      a2a.TransportProtocolGRPC,
}

// The agents as the SDK reaches them over one binding.
type peer struct {
	binding a2a.TransportProtocol
	card    *a2a.AgentCard
	full    *a2aclient.Client
	plain   *a2aclient.Client
	// What the plain agent publishes.
	plainCard *a2a.AgentCard
	// What the agent that wants credentials publishes, and those that there are.
	guardedCard *a2a.AgentCard
	secrets     map[string]a2aclient.AuthCredential
}

// The addresses of the agents.
type places struct {
	full, plain, guarded string
}

func newPeer(ctx context.Context, at places, binding string) (*peer, error) {
	p := &peer{binding: bindingNames[binding]}
	var err error
	if p.card, err = agentcard.DefaultResolver.Resolve(ctx, at.full); err != nil {
		return nil, err
	}
	if p.plainCard, err = agentcard.DefaultResolver.Resolve(ctx, at.plain); err != nil {
		return nil, err
	}
	if p.guardedCard, err = guardedResolver.Resolve(ctx, at.guarded); err != nil {
		return nil, err
	}
	if p.full, err = p.connect(ctx, p.card); err != nil {
		return nil, err
	}
	p.plain, err = p.connect(ctx, p.plainCard)
	return p, err
}

func (p *peer) connect(ctx context.Context, card *a2a.AgentCard, with ...a2aclient.FactoryOption) (*a2aclient.Client, error) {
	options := []a2aclient.FactoryOption{
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{p.binding}}),
	}
	return a2aclient.NewFromCard(ctx, card, append(options, with...)...)
}

// believing gives a client of the plain agent that believes a card other than the published one.
func (p *peer) believing(ctx context.Context, change func(*a2a.AgentCard)) *a2aclient.Client {
	card := *p.plainCard
	change(&card)
	return must(p.connect(ctx, &card))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(holds bool, what string, about ...any) {
	if !holds {
		panic(fmt.Sprintf(what, about...))
	}
}

func equal[T any](seen, wanted T) {
	check(reflect.DeepEqual(seen, wanted), "%+v is not %+v", seen, wanted)
}

func fails[T any](wanted error) func(T, error) {
	return func(value T, err error) {
		check(err != nil, "no error %q but %+v", wanted, value)
		check(errors.Is(err, wanted), "%v is not the error %q", err, wanted)
	}
}

// send makes a request with a text; `change` sets whatever else it has.
func send(text string, change ...func(*a2a.SendMessageRequest)) *a2a.SendMessageRequest {
	return sendParts([]*a2a.Part{a2a.NewTextPart(text)}, change...)
}

func sendParts(parts []*a2a.Part, change ...func(*a2a.SendMessageRequest)) *a2a.SendMessageRequest {
	request := &a2a.SendMessageRequest{
		Message: a2a.NewMessage(a2a.MessageRoleUser, parts...),
		Config:  &a2a.SendMessageConfig{},
	}
	for _, each := range change {
		each(request)
	}
	return request
}

func toTask(id a2a.TaskID) func(*a2a.SendMessageRequest) {
	return func(request *a2a.SendMessageRequest) { request.Message.TaskID = id }
}

func inContext(id string) func(*a2a.SendMessageRequest) {
	return func(request *a2a.SendMessageRequest) { request.Message.ContextID = id }
}

func immediately(request *a2a.SendMessageRequest) {
	request.Config.ReturnImmediately = true
}

// as makes the calls of a context those of an owner.
func as(ctx context.Context, owner string) context.Context {
	return a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{"Authorization": {owner}})
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
func taskOf(ctx context.Context, client *a2aclient.Client, request *a2a.SendMessageRequest) *a2a.Task {
	answer := must(client.SendMessage(ctx, request))
	task, ok := answer.(*a2a.Task)
	check(ok, "%+v is no task", answer)
	return task
}

// messageOf sends a request that is answered by a message.
func messageOf(ctx context.Context, client *a2aclient.Client, request *a2a.SendMessageRequest) *a2a.Message {
	answer := must(client.SendMessage(ctx, request))
	message, ok := answer.(*a2a.Message)
	check(ok, "%+v is no message", answer)
	return message
}

// waiting starts a task that waits for a message, and gives it back while it runs.
func waiting(ctx context.Context, client *a2aclient.Client) *a2a.Task {
	task := taskOf(ctx, client, send("wait", immediately))
	check(isOpen(task.Status), "the task is %s", stateOf(task.Status))
	return task
}

func getTask(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) *a2a.Task {
	return must(client.GetTask(ctx, &a2a.GetTaskRequest{ID: id}))
}

func isOpen(status a2a.TaskStatus) bool {
	return status.State == a2a.TaskStateSubmitted || status.State == a2a.TaskStateWorking
}

func stateOf(status a2a.TaskStatus) string {
	return strings.TrimPrefix(status.State.String(), "TASK_STATE_")
}

func textOf(parts []*a2a.Part) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text())
	}
	return text.String()
}

// lastStatus gives the status update with which a stream has to end.
func lastStatus(events []a2a.Event) *a2a.TaskStatusUpdateEvent {
	check(len(events) > 0, "the stream was empty")
	last, ok := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
	check(ok, "the stream ends with %+v", events[len(events)-1])
	return last
}
