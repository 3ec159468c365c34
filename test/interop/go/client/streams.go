package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

var streamCases = []testCase{
	{"stream-task", func(ctx context.Context, p *peer) {
		events := must(collect(p.full.SendStreamingMessage(ctx, send("work"))))
		task, ok := events[0].(*a2a.Task)
		check(ok, "the stream begins with %+v", events[0])
		var states, chunks []string
		for _, event := range events[1:] {
			equal(event.TaskInfo().TaskID, task.ID)
			switch update := event.(type) {
			case *a2a.TaskStatusUpdateEvent:
				states = append(states, stateOf(update.Status))
			case *a2a.TaskArtifactUpdateEvent:
				chunks = append(chunks, fmt.Sprintln(update.Artifact.ID, update.Artifact.Name, update.Append, update.LastChunk))
			default:
				panic(fmt.Sprintf("%+v within the stream", event))
			}
		}
		equal(chunks, []string{"report Report false false\n", "report  true true\n", "extra  false false\n"})
		equal(states, []string{"WORKING", "COMPLETED"})
		lastStatus(events)
	}},

	{"stream-chunks", func(ctx context.Context, p *peer) {
		events := must(collect(p.full.SendStreamingMessage(ctx, send("count"))))
		var wanted strings.Builder
		for number := range 500 {
			fmt.Fprintf(&wanted, "%d,", number)
		}
		equal(artifactText(events), wanted.String())
	}},

	{"stream-silence", func(ctx context.Context, p *peer) {
		events := must(collect(p.full.SendStreamingMessage(ctx, send("hush"))))
		equal(stateOf(lastStatus(events).Status), "COMPLETED")
	}},

	{"cancel-stream", func(ctx context.Context, p *peer) {
		var states []string
		for event, err := range p.full.SendStreamingMessage(ctx, send("wait")) {
			state := eventState(must(event, err))
			states = append(states, state)
			if state == "WORKING" {
				cancel(ctx, p.full, event.TaskInfo().TaskID)
			}
		}
		equal(states, []string{"SUBMITTED", "WORKING", "CANCELED"})
	}},

	{"subscribe", func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		var events []a2a.Event
		for event, err := range p.full.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
			must(event, err)
			if task, ok := event.(*a2a.Task); ok {
				check(len(events) == 0 && isOpen(task.Status), "the task comes late: %+v", task)
				taskOf(ctx, p.full, send("go on", toTask(id), immediately))
			}
			events = append(events, event)
		}
		_, ok := events[0].(*a2a.Task)
		check(ok, "the stream begins with %+v", events[0])
		equal(artifactText(events), "heard go on")
		equal(stateOf(lastStatus(events).Status), "COMPLETED")
	}},

	{"leave", func(ctx context.Context, p *peer) {
		var id a2a.TaskID
		for event, err := range p.full.SendStreamingMessage(ctx, send("wait")) {
			id = must(event, err).TaskInfo().TaskID
			if eventState(event) == "WORKING" {
				break
			}
		}
		equal(stateOf(getTask(ctx, p.full, id).Status), "WORKING")
		equal(stateOf(taskOf(ctx, p.full, send("go", toTask(id))).Status), "COMPLETED")
	}},

	{"input-required-stream", func(ctx context.Context, p *peer) {
		question := lastStatus(must(collect(p.full.SendStreamingMessage(ctx, send("ask")))))
		equal(stateOf(question.Status), "INPUT_REQUIRED")
		rest := must(collect(p.full.SendStreamingMessage(ctx, send("this one", toTask(question.TaskID)))))
		_, ok := rest[0].(*a2a.Task)
		check(ok, "the stream begins with %+v", rest[0])
		equal(stateOf(lastStatus(rest).Status), "COMPLETED")
	}},
}

func artifactText(events []a2a.Event) string {
	var text strings.Builder
	for _, event := range events {
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			text.WriteString(textOf(update.Artifact.Parts))
		}
	}
	return text.String()
}

func eventState(event a2a.Event) string {
	switch each := event.(type) {
	case *a2a.Task:
		return stateOf(each.Status)
	case *a2a.TaskStatusUpdateEvent:
		return stateOf(each.Status)
	}
	panic(fmt.Sprintf("%+v has no state", event))
}
