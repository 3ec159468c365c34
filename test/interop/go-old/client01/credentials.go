package main

import (
	"context"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

var credentialCases = speak.CredentialCases(speak.Calls[*peer]{
	With: with,
	Works: func(ctx context.Context, p *peer) {
		task := speak.Must(p.guarded.SendTasks(ctx, send("pong")))
		speak.Equal(textOf(task.Status.Message.Parts), "pong pong")
		speak.Check(len(stream(ctx, p.guarded, send("work"))) > 0, "the stream was empty")
		speak.Equal(speak.Must(p.guarded.GetTasks(ctx, protocol.TaskQueryParams{ID: task.ID})).ID, task.ID)
	},
	IsRefused: func(ctx context.Context, p *peer) {
		_, err := p.guarded.SendTasks(ctx, send("pong"))
		refused(err)
		_, err = p.guarded.StreamTask(ctx, send("pong"))
		refused(err)
		_, err = p.guarded.GetTasks(ctx, protocol.TaskQueryParams{ID: speak.Nobody})
		refused(err)
	},
})
