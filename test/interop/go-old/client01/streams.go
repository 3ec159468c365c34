package main

import (
	"context"
	"fmt"
	"strings"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

var streamCases = []testCase{
	{Name: "stream-message", Run: func(ctx context.Context, p *peer) {
		events := stream(ctx, p.full, send("pong"))
		states, last := statesOf(events), events[len(events)-1].(protocol.TaskStatusUpdateEvent)
		speak.Equal(states[len(states)-1], protocol.TaskStateCompleted)
		speak.Equal(textOf(last.Status.Message.Parts), "pong pong")
	}},

	{Name: "stream-task", Run: func(ctx context.Context, p *peer) {
		request := send("work")
		events := stream(ctx, p.full, request)
		var chunks []string
		for _, event := range events {
			if update, ok := event.(protocol.TaskArtifactUpdateEvent); ok {
				speak.Equal(update.ID, request.ID)
				artifact := update.Artifact
				chunks = append(chunks, fmt.Sprint(artifact.Index, isTrue(artifact.Append), isTrue(artifact.LastChunk)))
			}
		}
		speak.Equal(chunks, []string{"0 false false", "0 true true", "1 false false"})
		wanted := []protocol.TaskState{
			protocol.TaskStateSubmitted, protocol.TaskStateWorking, protocol.TaskStateCompleted,
		}
		speak.Equal(statesOf(events), wanted)
	}},

	{Name: "stream-chunks", Run: func(ctx context.Context, p *peer) {
		events := stream(ctx, p.full, send("count"))
		var wanted strings.Builder
		for number := range 500 {
			fmt.Fprintf(&wanted, "%d,", number)
		}
		speak.Equal(streamed(events), wanted.String())
	}},

	{Name: "stream-silence", Run: func(ctx context.Context, p *peer) {
		events := stream(ctx, p.full, send("hush"))
		speak.Equal(streamed(events), "at last")
	}},

	{Name: "leave", Run: func(ctx context.Context, p *peer) {
		request, left := send("wait"), make(chan struct{})
		streaming, leave := context.WithCancel(ctx)
		defer leave()
		events := speak.Must(p.full.StreamTask(streaming, request))
		for event := range events {
			if stateOf(event) == protocol.TaskStateWorking {
				leave()
				close(left)
				break
			}
		}
		<-left
		get := protocol.TaskQueryParams{ID: request.ID}
		speak.Equal(speak.Must(p.full.GetTasks(ctx, get)).Status.State, protocol.TaskStateWorking)
		speak.Equal(speak.Must(p.full.SendTasks(ctx, send("go", toTask(request.ID)))).Status.State, protocol.TaskStateCompleted)
	}},

	{Name: "input-required-stream", Run: func(ctx context.Context, p *peer) {
		request := send("ask")
		states := statesOf(stream(ctx, p.full, request))
		speak.Equal(states[len(states)-1], protocol.TaskStateInputRequired)
		rest := stream(ctx, p.full, send("this one", toTask(request.ID)))
		speak.Equal(streamed(rest), "you said this one")
		states = statesOf(rest)
		speak.Equal(states[len(states)-1], protocol.TaskStateCompleted)
	}},
}

func isTrue(value *bool) bool {
	return value != nil && *value
}
