package main

import (
	"context"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

const hook = "http://127.0.0.1:9/hook"

func setPush(
	ctx context.Context,
	client *client.A2AClient,
	id string,
	config protocol.PushNotificationConfig,
) (*protocol.TaskPushNotificationConfig, error) {
	wanted := protocol.TaskPushNotificationConfig{TaskID: id, PushNotificationConfig: config}
	return client.SetPushNotification(ctx, wanted)
}

var pushCases = []testCase{
	{Name: "push-config", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		secret := "very-secret"
		auth := &protocol.AuthenticationInfo{Schemes: []string{"Bearer"}, Credentials: &secret}
		wanted := protocol.PushNotificationConfig{ID: "mine", URL: hook, Token: "t0ken", Authentication: auth}
		made := speak.Must(setPush(ctx, p.full, id, wanted))
		config := made.PushNotificationConfig
		speak.Check(made.TaskID == id && config.ID == "mine" && config.URL == hook, "%+v", made)
		shown := config.Authentication
		speak.Check(shown == nil || shown.Credentials == nil || *shown.Credentials != secret, "the secret came back")
		got := speak.Must(p.full.GetPushNotification(ctx, protocol.TaskIDParams{ID: id}))
		speak.Equal(got.PushNotificationConfig.URL, hook)
		cancel(ctx, p.full, id)
	}},

	{Name: "push-unnamed", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		made := speak.Must(setPush(ctx, p.full, id, protocol.PushNotificationConfig{URL: hook}))
		speak.Check(made.PushNotificationConfig.ID != "", "it has no name")
		got := speak.Must(p.full.GetPushNotification(ctx, protocol.TaskIDParams{ID: id}))
		speak.Equal(got.PushNotificationConfig.URL, hook)
		cancel(ctx, p.full, id)
	}},

	{Name: "push-delivery", Run: func(ctx context.Context, p *peer) {
		receiver := speak.NewReceiver(isEnd)
		defer receiver.Close()
		id := waiting(ctx, p.full).ID
		secret := "cr3d"
		auth := &protocol.AuthenticationInfo{Schemes: []string{"Bearer"}, Credentials: &secret}
		config := protocol.PushNotificationConfig{URL: receiver.URL, Token: "t0ken", Authentication: auth}
		speak.Must(setPush(ctx, p.full, id, config))
		taskOf(ctx, p.full, send("go", toTask(id)))
		for _, call := range receiver.Wait(ctx) {
			speak.Check(call.Body["kind"] == "task" && call.Body["id"] == id, "%+v", call.Body)
			speak.Equal(call.Header.Get("X-A2A-Notification-Token"), "t0ken")
			speak.Equal(call.Header.Get("Authorization"), "Bearer cr3d")
		}
	}},

	{Name: "push-inline", Run: func(ctx context.Context, p *peer) {
		receiver := speak.NewReceiver(isEnd)
		defer receiver.Close()
		task := taskOf(ctx, p.full, send("work", func(request *protocol.SendMessageParams) {
			config := &protocol.PushNotificationConfig{URL: receiver.URL, Token: "inline"}
			request.Configuration.PushNotificationConfig = config
		}))
		for _, call := range receiver.Wait(ctx) {
			speak.Equal(call.Body["id"], any(task.ID))
			speak.Equal(call.Header.Get("X-A2A-Notification-Token"), "inline")
		}
	}},
}

func isEnd(body map[string]any) bool {
	return body["kind"] == "task" && speak.StateOf(body) == "completed"
}
