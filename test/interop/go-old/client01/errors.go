package main

import (
	"context"
	"strings"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

var nobody = protocol.TaskIDParams{ID: speak.Nobody}

const taskNotFound = -32001

var errorCases = []testCase{
	{Name: "error-get", Run: func(ctx context.Context, p *peer) {
		_, err := p.full.GetTasks(ctx, protocol.TaskQueryParams{ID: nobody.ID})
		fails(taskNotFound, err)
	}},

	{Name: "error-cancel-missing", Run: func(ctx context.Context, p *peer) {
		_, err := p.full.CancelTasks(ctx, nobody)
		fails(taskNotFound, err)
	}},

	{Name: "error-foreign", Run: func(ctx context.Context, p *peer) {
		anna, bert := as(ctx, "anna"), as(ctx, "bert")
		id, rest := waiting(anna, p.full)
		_, err := p.full.GetTasks(bert, protocol.TaskQueryParams{ID: id})
		fails(taskNotFound, err)
		_, err = p.full.CancelTasks(bert, protocol.TaskIDParams{ID: id})
		fails(taskNotFound, err)
		speak.Must(p.full.CancelTasks(anna, protocol.TaskIDParams{ID: id}))
		collect(rest)
	}},

	{Name: "error-cancel-finished", Run: func(ctx context.Context, p *peer) {
		id := speak.Must(p.full.SendTasks(ctx, send("work"))).ID
		_, err := p.full.CancelTasks(ctx, protocol.TaskIDParams{ID: id})
		fails(-32002, err)
	}},

	{Name: "error-send-finished", Run: func(ctx context.Context, p *peer) {
		id := speak.Must(p.full.SendTasks(ctx, send("work"))).ID
		_, err := p.full.SendTasks(ctx, send("more", toTask(id)))
		fails(-32009, err)
	}},

	{Name: "error-content-type", Run: func(ctx context.Context, p *peer) {
		picture := file("p.png", "image/png", "AAAA", "")
		_, err := p.full.SendTasks(ctx, sendParts([]protocol.Part{protocol.NewTextPart("echo"), picture}))
		fails(-32005, err)
	}},

	{Name: "error-params", Run: func(ctx context.Context, p *peer) {
		_, err := p.full.SendTasks(ctx, sendParts([]protocol.Part{}))
		fails(-32602, err)
	}},

	{Name: "error-unauthenticated", Run: func(ctx context.Context, p *peer) {
		stranger := as(ctx, "stranger")
		_, err := p.full.SendTasks(stranger, send("pong"))
		refused(err)
		_, err = p.full.StreamTask(stranger, send("pong"))
		refused(err)
	}},

	{Name: "error-push", Run: func(ctx context.Context, p *peer) {
		id := speak.Must(p.plain.SendTasks(ctx, send("work"))).ID
		config := protocol.PushNotificationConfig{URL: hook}
		_, err := p.plain.SetPushNotification(ctx, protocol.TaskPushNotificationConfig{ID: id, PushNotificationConfig: config})
		fails(-32003, err)
		_, err = p.plain.SendTasks(ctx, send("work", func(request *protocol.SendTaskParams) {
			request.PushNotification = &config
		}))
		fails(-32003, err)
	}},
}

// refused takes what the SDK makes of a caller who may not come in: the HTTP status in words.
func refused(err error) {
	speak.Check(err != nil && strings.Contains(err.Error(), "401"), "%v says nothing of it", err)
}
