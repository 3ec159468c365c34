package main

import (
	"context"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"trivium.example/interop/old/speak"
)

const nobody a2a.TaskID = speak.Nobody

func finished(ctx context.Context, client *a2aclient.Client) a2a.TaskID {
	return taskOf(ctx, client, send("work")).ID
}

func get(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) (*a2a.Task, error) {
	return client.GetTask(ctx, &a2a.TaskQueryParams{ID: id})
}

func tryCancel(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) (*a2a.Task, error) {
	return client.CancelTask(ctx, &a2a.TaskIDParams{ID: id})
}

func subscribe(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) ([]a2a.Event, error) {
	return collect(client.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: id}))
}

var errorCases = []testCase{
	{Name: "error-get", Run: func(ctx context.Context, p *peer) {
		fails[*a2a.Task](a2a.ErrTaskNotFound)(get(ctx, p.full, nobody))
	}},

	{Name: "error-cancel-missing", Run: func(ctx context.Context, p *peer) {
		fails[*a2a.Task](a2a.ErrTaskNotFound)(tryCancel(ctx, p.full, nobody))
	}},

	{Name: "error-subscribe-missing", Run: func(ctx context.Context, p *peer) {
		fails[[]a2a.Event](a2a.ErrTaskNotFound)(subscribe(ctx, p.full, nobody))
	}},

	{Name: "error-send-missing", Run: func(ctx context.Context, p *peer) {
		fails[a2a.SendMessageResult](a2a.ErrTaskNotFound)(p.full.SendMessage(ctx, send("pong", toTask(nobody))))
	}},

	{Name: "error-stream-missing", Run: func(ctx context.Context, p *peer) {
		request := send("pong", toTask(nobody))
		fails[[]a2a.Event](a2a.ErrTaskNotFound)(collect(p.full.SendStreamingMessage(ctx, request)))
	}},

	{Name: "error-foreign", Run: func(ctx context.Context, p *peer) {
		anna, bert := as(ctx, "anna"), as(ctx, "bert")
		id := waiting(anna, p.full).ID
		fails[*a2a.Task](a2a.ErrTaskNotFound)(get(bert, p.full, id))
		fails[*a2a.Task](a2a.ErrTaskNotFound)(tryCancel(bert, p.full, id))
		fails[[]a2a.Event](a2a.ErrTaskNotFound)(subscribe(bert, p.full, id))
		cancel(anna, p.full, id)
	}},

	{Name: "error-cancel-finished", Run: func(ctx context.Context, p *peer) {
		fails[*a2a.Task](a2a.ErrTaskNotCancelable)(tryCancel(ctx, p.full, finished(ctx, p.full)))
	}},

	{Name: "error-send-finished", Run: func(ctx context.Context, p *peer) {
		more := send("more", toTask(finished(ctx, p.full)))
		fails[a2a.SendMessageResult](a2a.ErrUnsupportedOperation)(p.full.SendMessage(ctx, more))
	}},

	{Name: "error-content-type", Run: func(ctx context.Context, p *peer) {
		picture := a2a.FilePart{File: a2a.FileBytes{FileMeta: a2a.FileMeta{MimeType: "image/png"}, Bytes: "AAAA"}}
		request := sendParts(a2a.ContentParts{a2a.TextPart{Text: "echo"}, picture})
		fails[a2a.SendMessageResult](a2a.ErrUnsupportedContentType)(p.full.SendMessage(ctx, request))
	}},

	{Name: "error-unauthenticated", Run: func(ctx context.Context, p *peer) {
		stranger := as(ctx, "stranger")
		_, err := p.full.SendMessage(stranger, send("pong"))
		refused(err)
		_, err = collect(p.full.SendStreamingMessage(stranger, send("pong")))
		refused(err)
	}},

	{Name: "error-params", Run: func(ctx context.Context, p *peer) {
		fails[a2a.SendMessageResult](a2a.ErrInvalidParams)(p.full.SendMessage(ctx, sendParts(a2a.ContentParts{})))
	}},

	{Name: "error-push", Run: func(ctx context.Context, p *peer) {
		id := finished(ctx, p.plain)
		wanted := a2a.ErrPushNotificationNotSupported
		config := a2a.PushConfig{ID: "x", URL: hook}
		fails[*a2a.TaskPushConfig](wanted)(p.plain.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: id, Config: config}))
		named := &a2a.GetTaskPushConfigParams{TaskID: id, ConfigID: "x"}
		fails[*a2a.TaskPushConfig](wanted)(p.plain.GetTaskPushConfig(ctx, named))
		all := &a2a.ListTaskPushConfigParams{TaskID: id}
		fails[[]*a2a.TaskPushConfig](wanted)(p.plain.ListTaskPushConfig(ctx, all))
		err := p.plain.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigParams{TaskID: id, ConfigID: "x"})
		fails[string](wanted)("deleted", err)
	}},

	{Name: "error-push-missing", Run: func(ctx context.Context, p *peer) {
		request := &a2a.GetTaskPushConfigParams{TaskID: finished(ctx, p.full), ConfigID: "none"}
		fails[*a2a.TaskPushConfig](a2a.ErrTaskNotFound)(p.full.GetTaskPushConfig(ctx, request))
	}},

	{Name: "error-extended-card", Run: func(ctx context.Context, p *peer) {
		client := p.believing(ctx, func(card *a2a.AgentCard) { card.SupportsAuthenticatedExtendedCard = true })
		fails[*a2a.AgentCard](a2a.ErrAuthenticatedExtendedCardNotConfigured)(client.GetAgentCard(ctx))
	}},
}

// refused takes what the SDK makes of a caller who may not come in. Over JSON-RPC it tells the HTTP status in words.
func refused(err error) {
	speak.Check(err != nil, "no error came")
	speak.Check(errors.Is(err, a2a.ErrUnauthenticated) || strings.Contains(err.Error(), "401"), "%v says nothing of it", err)
}
