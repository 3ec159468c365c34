package main

import (
	"context"

	"github.com/a2aproject/a2a-go/a2a"
	"trivium.example/interop/old/speak"
)

const hook = "http://127.0.0.1:9/hook"

var pushCases = []testCase{
	{Name: "push-config", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		auth := &a2a.PushAuthInfo{Schemes: []string{"Bearer"}, Credentials: "very-secret"}
		wanted := a2a.PushConfig{ID: "mine", URL: hook, Token: "t0ken", Auth: auth}
		made := speak.Must(p.full.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: id, Config: wanted}))
		speak.Check(made.TaskID == id && made.Config.ID == "mine" && made.Config.URL == hook, "%+v", made)
		speak.Check(made.Config.Auth == nil || made.Config.Auth.Credentials != "very-secret", "the secret came back")
		got := speak.Must(p.full.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigParams{TaskID: id, ConfigID: "mine"}))
		speak.Equal(got.Config.URL, hook)
		cancel(ctx, p.full, id)
	}},

	{Name: "push-list", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		for _, name := range []string{"a", "b"} {
			config := &a2a.TaskPushConfig{TaskID: id, Config: a2a.PushConfig{ID: name, URL: hook}}
			speak.Must(p.full.SetTaskPushConfig(ctx, config))
		}
		list := func() []*a2a.TaskPushConfig {
			return speak.Must(p.full.ListTaskPushConfig(ctx, &a2a.ListTaskPushConfigParams{TaskID: id}))
		}
		speak.Equal(len(list()), 2)
		err := p.full.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigParams{TaskID: id, ConfigID: "a"})
		speak.Check(err == nil, "%v", err)
		rest := list()
		speak.Check(len(rest) == 1 && rest[0].Config.ID == "b", "%+v", rest)
		cancel(ctx, p.full, id)
	}},

	{Name: "push-unnamed", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		config := &a2a.TaskPushConfig{TaskID: id, Config: a2a.PushConfig{URL: hook}}
		made := speak.Must(p.full.SetTaskPushConfig(ctx, config))
		speak.Check(made.Config.ID != "", "it has no name")
		got := speak.Must(p.full.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigParams{TaskID: id}))
		speak.Equal(got.Config.URL, hook)
		cancel(ctx, p.full, id)
	}},

	{Name: "push-delivery", Run: func(ctx context.Context, p *peer) {
		receiver := speak.NewReceiver(isEnd)
		defer receiver.Close()
		id := waiting(ctx, p.full).ID
		auth := &a2a.PushAuthInfo{Schemes: []string{"Bearer"}, Credentials: "cr3d"}
		wanted := a2a.PushConfig{URL: receiver.URL, Token: "t0ken", Auth: auth}
		speak.Must(p.full.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: id, Config: wanted}))
		taskOf(ctx, p.full, send("go", toTask(id)))
		for _, call := range receiver.Wait(ctx) {
			speak.Check(call.Body["kind"] == "task" && call.Body["id"] == string(id), "%+v", call.Body)
			speak.Equal(call.Header.Get("X-A2A-Notification-Token"), "t0ken")
			speak.Equal(call.Header.Get("Authorization"), "Bearer cr3d")
		}
	}},

	{Name: "push-inline", Run: func(ctx context.Context, p *peer) {
		receiver := speak.NewReceiver(isEnd)
		defer receiver.Close()
		blocking := true
		task := taskOf(ctx, p.full, send("work", func(request *a2a.MessageSendParams) {
			config := &a2a.PushConfig{URL: receiver.URL, Token: "inline"}
			request.Config = &a2a.MessageSendConfig{Blocking: &blocking, PushConfig: config}
		}))
		for _, call := range receiver.Wait(ctx) {
			speak.Equal(call.Body["id"], any(string(task.ID)))
			speak.Equal(call.Header.Get("X-A2A-Notification-Token"), "inline")
		}
	}},
}

func isEnd(body map[string]any) bool {
	return body["kind"] == "task" && speak.StateOf(body) == "completed"
}
