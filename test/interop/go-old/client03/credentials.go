package main

import (
	"context"

	"github.com/a2aproject/a2a-go/a2a"
	"trivium.example/interop/old/speak"
)

var credentialCases = speak.CredentialCases(speak.Calls[*peer]{
	With: with,
	Works: func(ctx context.Context, p *peer) {
		speak.Equal(textOf(messageOf(ctx, p.guarded, send("pong")).Parts), "pong pong")
		events := speak.Must(collect(p.guarded.SendStreamingMessage(ctx, send("work"))))
		speak.Check(len(events) > 0, "the stream was empty")
		id := events[0].TaskInfo().TaskID
		speak.Equal(getTask(ctx, p.guarded, id).ID, id)
	},
	IsRefused: func(ctx context.Context, p *peer) {
		_, err := p.guarded.SendMessage(ctx, send("pong"))
		refused(err)
		_, err = collect(p.guarded.SendStreamingMessage(ctx, send("pong")))
		refused(err)
		_, err = p.guarded.GetTask(ctx, &a2a.TaskQueryParams{ID: speak.Nobody})
		refused(err)
	},
})
