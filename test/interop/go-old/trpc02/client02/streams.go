package main

import (
	"context"
	"fmt"
	"strings"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

var streamCases = []testCase{
	{Name: "stream-task", Run: func(ctx context.Context, p *peer) {
		events := stream(ctx, p.full, send("work"))
		task, ok := events[0].(*protocol.Task)
		speak.Check(ok, "the stream begins with %+v", events[0])
		var chunks []string
		for _, event := range events[1:] {
			if update, ok := event.(*protocol.TaskArtifactUpdateEvent); ok {
				speak.Equal(update.TaskID, task.ID)
				flags := fmt.Sprintf("%t %t", isTrue(update.Append), isTrue(update.LastChunk))
				chunks = append(chunks, update.Artifact.ArtifactID+" "+flags)
			}
		}
		speak.Equal(chunks, []string{"report false false", "report true true", "extra false false"})
		speak.Equal(statesOf(events), []protocol.TaskState{protocol.TaskStateWorking, protocol.TaskStateCompleted})
	}},

	{Name: "stream-chunks", Run: func(ctx context.Context, p *peer) {
		var wanted strings.Builder
		for number := range 500 {
			fmt.Fprintf(&wanted, "%d,", number)
		}
		speak.Equal(streamed(stream(ctx, p.full, send("count"))), wanted.String())
	}},

	{Name: "stream-silence", Run: func(ctx context.Context, p *peer) {
		speak.Equal(lastState(stream(ctx, p.full, send("hush"))), protocol.TaskStateCompleted)
	}},

	{Name: "cancel-stream", Run: func(ctx context.Context, p *peer) {
		var events []protocol.StreamingMessageResult
		for event := range speak.Must(p.full.StreamMessage(ctx, send("wait"))) {
			events = append(events, event.Result)
			if id, state := stateOf(event.Result); state == protocol.TaskStateWorking {
				cancel(ctx, p.full, id)
			}
		}
		speak.Equal(statesOf(events), []protocol.TaskState{protocol.TaskStateWorking, protocol.TaskStateCanceled})
	}},

	{Name: "subscribe", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		var events []protocol.StreamingMessageResult
		for event := range speak.Must(p.full.ResubscribeTask(ctx, protocol.TaskIDParams{ID: id})) {
			events = append(events, event.Result)
			if len(events) == 1 {
				task, ok := event.Result.(*protocol.Task)
				speak.Check(ok && isOpen(task.Status), "the stream begins with %+v", event.Result)
				taskOf(ctx, p.full, send("go on", toTask(id), blocking(false)))
			}
		}
		speak.Equal(streamed(events), "heard go on")
		speak.Equal(lastState(events), protocol.TaskStateCompleted)
	}},

	{Name: "subscribe-finished", Run: func(ctx context.Context, p *peer) {
		id := taskOf(ctx, p.full, send("work")).ID
		events := collect(speak.Must(p.full.ResubscribeTask(ctx, protocol.TaskIDParams{ID: id})))
		speak.Check(len(events) > 0, "the stream is empty")
		task, ok := events[0].(*protocol.Task)
		speak.Check(ok && task.Status.State == protocol.TaskStateCompleted, "the stream begins with %+v", events[0])
		for _, event := range events[1:] {
			update, ok := event.(*protocol.TaskStatusUpdateEvent)
			speak.Check(ok && update.Final, "%+v follows", event)
		}
	}},

	{Name: "leave", Run: func(ctx context.Context, p *peer) {
		left, leave := context.WithCancel(ctx)
		var task string
		for event := range speak.Must(p.full.StreamMessage(left, send("wait"))) {
			if id, state := stateOf(event.Result); state == protocol.TaskStateWorking {
				task = id
				break
			}
		}
		leave()
		speak.Equal(getTask(ctx, p.full, task).Status.State, protocol.TaskStateWorking)
		speak.Equal(taskOf(ctx, p.full, send("go", toTask(task))).Status.State, protocol.TaskStateCompleted)
	}},

	{Name: "input-required-stream", Run: func(ctx context.Context, p *peer) {
		question := stream(ctx, p.full, send("ask"))
		speak.Equal(statesOf(question), []protocol.TaskState{protocol.TaskStateInputRequired})
		id, _ := stateOf(question[0])
		rest := stream(ctx, p.full, send("this one", toTask(id)))
		_, ok := rest[0].(*protocol.Task)
		speak.Check(ok, "the stream begins with %+v", rest[0])
		speak.Equal(lastState(rest), protocol.TaskStateCompleted)
	}},
}

func isTrue(flag *bool) bool {
	return flag != nil && *flag
}

// stateOf gives the task of an event, and the state that it tells of.
func stateOf(event protocol.StreamingMessageResult) (string, protocol.TaskState) {
	switch each := event.(type) {
	case *protocol.Task:
		return each.ID, each.Status.State
	case *protocol.TaskStatusUpdateEvent:
		return each.TaskID, each.Status.State
	}
	return "", ""
}

func streamed(events []protocol.StreamingMessageResult) string {
	var text strings.Builder
	for _, event := range events {
		if update, ok := event.(*protocol.TaskArtifactUpdateEvent); ok {
			text.WriteString(textOf(update.Artifact.Parts))
		}
	}
	return text.String()
}
