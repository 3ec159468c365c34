package main

import (
	"context"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

const nobody a2a.TaskID = "00000000-0000-7000-8000-000000000000"

func finished(ctx context.Context, client *a2aclient.Client) a2a.TaskID {
	return taskOf(ctx, client, send("work")).ID
}

func get(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) (*a2a.Task, error) {
	return client.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
}

func tryCancel(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) (*a2a.Task, error) {
	return client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
}

func subscribe(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) ([]a2a.Event, error) {
	return collect(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}))
}

var errorCases = []testCase{
	{"error-get", func(ctx context.Context, p *peer) {
		fails[*a2a.Task](a2a.ErrTaskNotFound)(get(ctx, p.full, nobody))
	}},

	{"error-cancel-missing", func(ctx context.Context, p *peer) {
		fails[*a2a.Task](a2a.ErrTaskNotFound)(tryCancel(ctx, p.full, nobody))
	}},

	{"error-subscribe-missing", func(ctx context.Context, p *peer) {
		fails[[]a2a.Event](a2a.ErrTaskNotFound)(subscribe(ctx, p.full, nobody))
	}},

	{"error-send-missing", func(ctx context.Context, p *peer) {
		fails[a2a.SendMessageResult](a2a.ErrTaskNotFound)(p.full.SendMessage(ctx, send("pong", toTask(nobody))))
	}},

	{"error-foreign", func(ctx context.Context, p *peer) {
		anna, bert := as(ctx, "anna"), as(ctx, "bert")
		id := waiting(anna, p.full).ID
		fails[*a2a.Task](a2a.ErrTaskNotFound)(get(bert, p.full, id))
		fails[*a2a.Task](a2a.ErrTaskNotFound)(tryCancel(bert, p.full, id))
		fails[[]a2a.Event](a2a.ErrTaskNotFound)(subscribe(bert, p.full, id))
		cancel(anna, p.full, id)
	}},

	{"error-cancel-finished", func(ctx context.Context, p *peer) {
		fails[*a2a.Task](a2a.ErrTaskNotCancelable)(tryCancel(ctx, p.full, finished(ctx, p.full)))
	}},

	{"error-subscribe-finished", func(ctx context.Context, p *peer) {
		fails[[]a2a.Event](a2a.ErrUnsupportedOperation)(subscribe(ctx, p.full, finished(ctx, p.full)))
	}},

	{"error-send-finished", func(ctx context.Context, p *peer) {
		more := send("more", toTask(finished(ctx, p.full)))
		fails[a2a.SendMessageResult](a2a.ErrUnsupportedOperation)(p.full.SendMessage(ctx, more))
	}},

	{"error-content-type", func(ctx context.Context, p *peer) {
		picture := &a2a.Part{Content: a2a.Raw("png"), MediaType: "image/png"}
		request := sendParts([]*a2a.Part{a2a.NewTextPart("echo"), picture})
		fails[a2a.SendMessageResult](a2a.ErrUnsupportedContentType)(p.full.SendMessage(ctx, request))
	}},

	{"error-content-type-agent", func(ctx context.Context, p *peer) {
		fails[a2a.SendMessageResult](a2a.ErrUnsupportedContentType)(p.full.SendMessage(ctx, send("picky")))
	}},

	{"error-content-type-stream", func(ctx context.Context, p *peer) {
		fails[[]a2a.Event](a2a.ErrUnsupportedContentType)(collect(p.full.SendStreamingMessage(ctx, send("picky"))))
	}},

	{"error-unauthenticated", func(ctx context.Context, p *peer) {
		stranger := as(ctx, "stranger")
		_, err := p.full.SendMessage(stranger, send("pong"))
		refused(err)
		_, err = collect(p.full.SendStreamingMessage(stranger, send("pong")))
		refused(err)
	}},

	{"error-params", func(ctx context.Context, p *peer) {
		fails[a2a.SendMessageResult](a2a.ErrInvalidParams)(p.full.SendMessage(ctx, sendParts([]*a2a.Part{})))
	}},

	{"error-page-token", func(ctx context.Context, p *peer) {
		request := &a2a.ListTasksRequest{PageToken: "made up"}
		fails[*a2a.ListTasksResponse](a2a.ErrInvalidParams)(p.full.ListTasks(ctx, request))
	}},

	{"error-version", func(ctx context.Context, p *peer) {
		client := must(p.connect(ctx, p.card, a2aclient.WithCallInterceptors(otherVersion{})))
		fails[*a2a.Task](a2a.ErrVersionNotSupported)(get(ctx, client, nobody))
	}},

	{"error-push", func(ctx context.Context, p *peer) {
		id := finished(ctx, p.plain)
		wanted := a2a.ErrPushNotificationNotSupported
		config := &a2a.PushConfig{TaskID: id, URL: "http://127.0.0.1:9/"}
		fails[*a2a.PushConfig](wanted)(p.plain.CreateTaskPushConfig(ctx, config))
		fails[*a2a.PushConfig](wanted)(p.plain.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: id, ID: "x"}))
		fails[[]*a2a.PushConfig](wanted)(p.plain.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: id}))
		err := p.plain.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: id, ID: "x"})
		fails[string](wanted)("deleted", err)
	}},

	{"error-push-inline", func(ctx context.Context, p *peer) {
		request := send("work", func(request *a2a.SendMessageRequest) {
			request.Config.PushConfig = &a2a.PushConfig{URL: "http://127.0.0.1:9/"}
		})
		fails[a2a.SendMessageResult](a2a.ErrPushNotificationNotSupported)(p.plain.SendMessage(ctx, request))
	}},

	{"error-push-missing", func(ctx context.Context, p *peer) {
		request := &a2a.GetTaskPushConfigRequest{TaskID: finished(ctx, p.full), ID: "none"}
		fails[*a2a.PushConfig](a2a.ErrTaskNotFound)(p.full.GetTaskPushConfig(ctx, request))
	}},

	{"error-extended-card", func(ctx context.Context, p *peer) {
		// With the published card the client would not even ask.
		client := p.believing(ctx, func(card *a2a.AgentCard) { card.Capabilities.ExtendedAgentCard = true })
		request := &a2a.GetExtendedAgentCardRequest{}
		fails[*a2a.AgentCard](a2a.ErrUnsupportedOperation)(client.GetExtendedAgentCard(ctx, request))
	}},
}

// refused takes what the SDK makes of a caller who may not come in. Over JSON-RPC it knows no error for that.
func refused(err error) {
	check(err != nil, "no error came")
	known := errors.Is(err, a2a.ErrUnauthenticated) || errors.Is(err, a2a.ErrServerError)
	check(known || strings.Contains(err.Error(), "401"), "%v says nothing of it", err)
}

// otherVersion asks for a version that is none.
type otherVersion struct {
	a2aclient.PassthroughInterceptor
}

func (otherVersion) Before(ctx context.Context, request *a2aclient.Request) (context.Context, any, error) {
	request.ServiceParams[a2a.SvcParamVersion] = []string{"9.9"}
	return ctx, nil, nil
}
