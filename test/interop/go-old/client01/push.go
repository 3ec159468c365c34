package main

import (
	"context"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

const hook = "http://127.0.0.1:9/hook"

var pushCases = []testCase{
	{Name: "push-config", Run: func(ctx context.Context, p *peer) {
		id, rest := waiting(ctx, p.full)
		config := protocol.PushNotificationConfig{URL: hook, Token: "t0ken"}
		wanted := protocol.TaskPushNotificationConfig{ID: id, PushNotificationConfig: config}
		made := speak.Must(p.full.SetPushNotification(ctx, wanted))
		speak.Check(made.ID == id && made.PushNotificationConfig.URL == hook, "%+v", made)
		got := speak.Must(p.full.GetPushNotification(ctx, protocol.TaskIDParams{ID: id}))
		speak.Check(got.ID == id && got.PushNotificationConfig.URL == hook, "%+v", got)
		speak.Must(p.full.CancelTasks(ctx, protocol.TaskIDParams{ID: id}))
		collect(rest)
	}},

	{Name: "push-delivery", Run: func(ctx context.Context, p *peer) {
		receiver := speak.NewReceiver(isEnd)
		defer receiver.Close()
		id, rest := waiting(ctx, p.full)
		credentials := "cr3d"
		config := protocol.PushNotificationConfig{
			URL:            receiver.URL,
			Token:          "t0ken",
			Authentication: &protocol.AuthenticationInfo{Schemes: []string{"Bearer"}, Credentials: &credentials},
		}
		wanted := protocol.TaskPushNotificationConfig{ID: id, PushNotificationConfig: config}
		speak.Must(p.full.SetPushNotification(ctx, wanted))
		speak.Must(p.full.SendTasks(ctx, send("go", toTask(id))))
		for _, call := range receiver.Wait(ctx) {
			_, later := call.Body["kind"]
			speak.Check(call.Body["id"] == id && !later, "%+v", call.Body)
			speak.Equal(call.Header.Get("X-A2A-Notification-Token"), "t0ken")
			speak.Equal(call.Header.Get("Authorization"), "Bearer cr3d")
		}
		collect(rest)
	}},

	{Name: "push-inline", Run: func(ctx context.Context, p *peer) {
		receiver := speak.NewReceiver(isEnd)
		defer receiver.Close()
		request := send("work", func(request *protocol.SendTaskParams) {
			request.PushNotification = &protocol.PushNotificationConfig{URL: receiver.URL, Token: "inline"}
		})
		speak.Must(p.full.SendTasks(ctx, request))
		for _, call := range receiver.Wait(ctx) {
			speak.Equal(call.Body["id"], any(request.ID))
			speak.Equal(call.Header.Get("X-A2A-Notification-Token"), "inline")
		}
	}},
}

func isEnd(body map[string]any) bool {
	return speak.StateOf(body) == "completed"
}
