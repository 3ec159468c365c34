package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"trivium.example/interop/old/speak"
)

var streamCases = []testCase{
	{Name: "stream-task", Run: func(ctx context.Context, p *peer) {
		events := speak.Must(collect(p.full.SendStreamingMessage(ctx, send("work"))))
		task, ok := events[0].(*a2a.Task)
		speak.Check(ok, "the stream begins with %+v", events[0])
		var chunks []string
		for _, event := range events[1:] {
			speak.Equal(event.TaskInfo().TaskID, task.ID)
			if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
				chunks = append(chunks, fmt.Sprintf("%s %t %t", update.Artifact.ID, update.Append, update.LastChunk))
			}
		}
		speak.Equal(chunks, []string{"report false false", "report true true", "extra false false"})
		speak.Equal(statesOf(events), []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted})
	}},

	{Name: "stream-chunks", Run: func(ctx context.Context, p *peer) {
		events := speak.Must(collect(p.full.SendStreamingMessage(ctx, send("count"))))
		var wanted strings.Builder
		for number := range 500 {
			fmt.Fprintf(&wanted, "%d,", number)
		}
		speak.Equal(streamed(events), wanted.String())
	}},

	{Name: "stream-silence", Run: func(ctx context.Context, p *peer) {
		events := speak.Must(collect(p.full.SendStreamingMessage(ctx, send("hush"))))
		speak.Equal(lastState(events), a2a.TaskStateCompleted)
	}},

	{Name: "cancel-stream", Run: func(ctx context.Context, p *peer) {
		var events []a2a.Event
		for event, err := range p.full.SendStreamingMessage(ctx, send("wait")) {
			events = append(events, speak.Must(event, err))
			if stateOf(event) == a2a.TaskStateWorking {
				cancel(ctx, p.full, event.TaskInfo().TaskID)
			}
		}
		speak.Equal(statesOf(events), []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCanceled})
	}},

	{Name: "subscribe", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		var events []a2a.Event
		for event, err := range p.full.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: id}) {
			events = append(events, speak.Must(event, err))
			if len(events) == 1 {
				task, ok := event.(*a2a.Task)
				speak.Check(ok && isOpen(task.Status), "the stream begins with %+v", event)
				taskOf(ctx, p.full, send("go on", toTask(id), immediately))
			}
		}
		speak.Equal(streamed(events), "heard go on")
		speak.Equal(lastState(events), a2a.TaskStateCompleted)
	}},

	{Name: "subscribe-finished", Run: func(ctx context.Context, p *peer) {
		id := taskOf(ctx, p.full, send("work")).ID
		events := speak.Must(collect(p.full.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: id})))
		task, ok := events[0].(*a2a.Task)
		speak.Check(ok && task.Status.State == a2a.TaskStateCompleted, "the stream begins with %+v", events[0])
		for _, event := range events[1:] {
			update, ok := event.(*a2a.TaskStatusUpdateEvent)
			speak.Check(ok && update.Final, "%+v follows", event)
		}
	}},

	{Name: "leave", Run: func(ctx context.Context, p *peer) {
		var id a2a.TaskID
		for event, err := range p.full.SendStreamingMessage(ctx, send("wait")) {
			id = speak.Must(event, err).TaskInfo().TaskID
			if stateOf(event) == a2a.TaskStateWorking {
				break
			}
		}
		speak.Equal(getTask(ctx, p.full, id).Status.State, a2a.TaskStateWorking)
		speak.Equal(taskOf(ctx, p.full, send("go", toTask(id))).Status.State, a2a.TaskStateCompleted)
	}},

	{Name: "input-required-stream", Run: func(ctx context.Context, p *peer) {
		question := speak.Must(collect(p.full.SendStreamingMessage(ctx, send("ask"))))
		speak.Equal(statesOf(question), []a2a.TaskState{a2a.TaskStateInputRequired})
		id := question[0].TaskInfo().TaskID
		rest := speak.Must(collect(p.full.SendStreamingMessage(ctx, send("this one", toTask(id)))))
		_, ok := rest[0].(*a2a.Task)
		speak.Check(ok, "the stream begins with %+v", rest[0])
		speak.Equal(lastState(rest), a2a.TaskStateCompleted)
	}},
}

func streamed(events []a2a.Event) string {
	var text strings.Builder
	for _, event := range events {
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			text.WriteString(textOf(update.Artifact.Parts))
		}
	}
	return text.String()
}

func stateOf(event a2a.Event) a2a.TaskState {
	switch each := event.(type) {
	case *a2a.Task:
		return each.Status.State
	case *a2a.TaskStatusUpdateEvent:
		return each.Status.State
	}
	panic(fmt.Sprintf("%+v has no state", event))
}
