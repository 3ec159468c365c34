package main

import (
	"context"
	"strings"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

const taskNotFound = -32001

func finished(ctx context.Context, client *client.A2AClient) string {
	return taskOf(ctx, client, send("work")).ID
}

func tryGet(ctx context.Context, client *client.A2AClient, id string) error {
	_, err := client.GetTasks(ctx, protocol.TaskQueryParams{ID: id})
	return err
}

func tryCancel(ctx context.Context, client *client.A2AClient, id string) error {
	_, err := client.CancelTasks(ctx, protocol.TaskIDParams{ID: id})
	return err
}

func trySend(ctx context.Context, client *client.A2AClient, request protocol.SendMessageParams) error {
	_, err := client.SendMessage(ctx, request)
	return err
}

var errorCases = []testCase{
	{Name: "error-get", Run: func(ctx context.Context, p *peer) {
		fails(taskNotFound, tryGet(ctx, p.full, speak.Nobody))
	}},

	{Name: "error-cancel-missing", Run: func(ctx context.Context, p *peer) {
		fails(taskNotFound, tryCancel(ctx, p.full, speak.Nobody))
	}},

	{Name: "error-send-missing", Run: func(ctx context.Context, p *peer) {
		fails(taskNotFound, trySend(ctx, p.full, send("pong", toTask(speak.Nobody))))
	}},

	{Name: "error-foreign", Run: func(ctx context.Context, p *peer) {
		anna, bert := as(ctx, "anna"), as(ctx, "bert")
		id := waiting(anna, p.full).ID
		fails(taskNotFound, tryGet(bert, p.full, id))
		fails(taskNotFound, tryCancel(bert, p.full, id))
		cancel(anna, p.full, id)
	}},

	{Name: "error-cancel-finished", Run: func(ctx context.Context, p *peer) {
		fails(-32002, tryCancel(ctx, p.full, finished(ctx, p.full)))
	}},

	{Name: "error-send-finished", Run: func(ctx context.Context, p *peer) {
		fails(-32004, trySend(ctx, p.full, send("more", toTask(finished(ctx, p.full)))))
	}},

	{Name: "error-content-type", Run: func(ctx context.Context, p *peer) {
		picture := protocol.NewFilePartWithBytes("p.png", "image/png", "AAAA")
		fails(-32005, trySend(ctx, p.full, sendParts([]protocol.Part{protocol.NewTextPart("echo"), picture})))
	}},

	{Name: "error-params", Run: func(ctx context.Context, p *peer) {
		fails(-32602, trySend(ctx, p.full, sendParts([]protocol.Part{})))
	}},

	{Name: "error-unauthenticated", Run: func(ctx context.Context, p *peer) {
		stranger := as(ctx, "stranger")
		refused(trySend(stranger, p.full, send("pong")))
		_, err := p.full.StreamMessage(stranger, send("pong"))
		refused(err)
	}},

	{Name: "error-push", Run: func(ctx context.Context, p *peer) {
		_, err := setPush(ctx, p.plain, finished(ctx, p.plain), protocol.PushNotificationConfig{URL: hook})
		fails(-32003, err)
	}},

	{Name: "error-push-missing", Run: func(ctx context.Context, p *peer) {
		_, err := p.full.GetPushNotification(ctx, protocol.TaskIDParams{ID: finished(ctx, p.full)})
		fails(taskNotFound, err)
	}},

	{Name: "error-extended-card", Run: func(ctx context.Context, p *peer) {
		_, err := p.plain.GetAuthenticatedExtendedCard(ctx)
		fails(-32007, err)
	}},
}

// refused takes what the SDK makes of a caller who may not come in: the HTTP status in words.
func refused(err error) {
	speak.Check(err != nil && strings.Contains(err.Error(), "401"), "%v says nothing of it", err)
}
