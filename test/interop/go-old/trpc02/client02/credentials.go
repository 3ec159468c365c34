package main

import (
	"context"

	"trivium.example/interop/old/speak"
)

var credentialCases = speak.CredentialCases(speak.Calls[*peer]{
	With: with,
	Works: func(ctx context.Context, p *peer) {
		speak.Equal(textOf(messageOf(ctx, p.guarded, send("pong")).Parts), "pong pong")
		speak.Check(len(stream(ctx, p.guarded, send("work"))) > 0, "the stream was empty")
		task := taskOf(ctx, p.guarded, send("work"))
		speak.Must(task, tryGet(ctx, p.guarded, task.ID))
	},
	IsRefused: func(ctx context.Context, p *peer) {
		_, err := p.guarded.SendMessage(ctx, send("pong"))
		refused(err)
		_, err = p.guarded.StreamMessage(ctx, send("pong"))
		refused(err)
		refused(tryGet(ctx, p.guarded, speak.Nobody))
	},
})
