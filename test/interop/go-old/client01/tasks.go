package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

const session = "c0ffee00-0000-7000-8000-000000000000"

var taskCases = []testCase{
	{Name: "card", Run: func(_ context.Context, p *peer) {
		card := p.card
		speak.Equal([]string{card.Name, card.Version, card.Provider.Organization}, []string{"Interop", "1.2.3", "Trivium"})
		speak.Check(card.Capabilities.Streaming && card.Capabilities.PushNotifications, "%+v", card.Capabilities)
		speak.Equal(card.Skills[0].Examples, []string{"work"})
	}},

	{Name: "message", Run: func(ctx context.Context, p *peer) {
		request := send("pong ü 漢 🙂", inSession(session))
		task := speak.Must(p.full.SendTasks(ctx, request))
		speak.Equal([]string{task.ID, *task.SessionID}, []string{request.ID, session})
		speak.Equal(task.Status.State, protocol.TaskStateCompleted)
		speak.Equal(textOf(task.Status.Message.Parts), "pong pong ü 漢 🙂")
	}},

	{Name: "echo", Run: func(ctx context.Context, p *peer) {
		metadata := map[string]any{"a": []any{1.0, map[string]any{"b": nil}}, "c": "d"}
		text := protocol.NewTextPart("echo")
		text.Metadata = map[string]any{"size": 3.0}
		list := map[string]any{"list": []any{1.0, 2.5, nil, true, "x"}, "nested": map[string]any{}}
		parts := []protocol.Part{
			text,
			protocol.DataPart{Type: protocol.PartTypeData, Data: list},
			file("f.bin", "application/octet-stream", "AH+A/w==", ""),
			file("a.txt", "text/plain", "", "https://files.example/a.txt"),
		}
		request := sendParts(parts)
		request.Message.Metadata = metadata
		message := speak.Must(p.full.SendTasks(ctx, request)).Status.Message
		speak.Equal(inJSON(message.Parts), inJSON(parts))
		speak.Equal(message.Metadata, metadata)
	}},

	{Name: "large", Run: func(ctx context.Context, p *peer) {
		long := strings.Repeat("0123456789abcdeé", 65_536)
		request := sendParts([]protocol.Part{protocol.NewTextPart("echo"), protocol.NewTextPart(long)})
		answer := speak.Must(p.full.SendTasks(ctx, request)).Status.Message
		speak.Check(textOf(answer.Parts) == "echo"+long, "the text has changed")
	}},

	{Name: "parallel", Run: func(ctx context.Context, p *peer) {
		answers := make([]string, 50)
		var group sync.WaitGroup
		for index := range answers {
			group.Go(func() {
				// A panic here would end the program; what is missing is seen below.
				if task, err := p.full.SendTasks(ctx, send(fmt.Sprintf("pong %d", index))); err == nil {
					answers[index] = textOf(task.Status.Message.Parts)
				}
			})
		}
		group.Wait()
		for index, answer := range answers {
			speak.Equal(answer, fmt.Sprintf("pong pong %d", index))
		}
	}},

	{Name: "context", Run: func(ctx context.Context, p *peer) {
		first := speak.Must(p.full.SendTasks(ctx, send("work", inSession(session))))
		second := speak.Must(p.full.SendTasks(ctx, send("work", inSession(session))))
		speak.Equal([]string{*first.SessionID, *second.SessionID}, []string{session, session})
		speak.Check(first.ID != second.ID, "both are %s", first.ID)
	}},

	{Name: "task", Run: func(ctx context.Context, p *peer) {
		request := send("work")
		task := speak.Must(p.full.SendTasks(ctx, request))
		speak.Equal(task.ID, request.ID)
		speak.Equal(task.Status.State, protocol.TaskStateCompleted)
		speak.Equal(textOf(task.Status.Message.Parts), "done")
		speak.Check(len(task.Artifacts) == 2, "%+v", task.Artifacts)
		report, extra := task.Artifacts[0], task.Artifacts[1]
		speak.Check(report.Index == 0 && *report.Name == "Report" && textOf(report.Parts) == "one two", "%+v", report)
		speak.Equal(extra.Index, 1)
		wanted := []protocol.Part{
			protocol.DataPart{Type: protocol.PartTypeData, Data: map[string]any{
				"count": 3.0, "ratio": 0.5, "nested": map[string]any{"list": []any{1.0, nil, "x"}},
			}},
			file("raw.bin", "application/octet-stream", "AAH+/w==", ""),
		}
		speak.Equal(inJSON(extra.Parts), inJSON(wanted))
	}},

	{Name: "get", Run: func(ctx context.Context, p *peer) {
		id := speak.Must(p.full.SendTasks(ctx, send("work"))).ID
		get := func(length *int) *protocol.Task {
			return speak.Must(p.full.GetTasks(ctx, protocol.TaskQueryParams{ID: id, HistoryLength: length}))
		}
		ten, one := 10, 1
		whole := get(&ten)
		speak.Check(whole.ID == id && len(whole.Artifacts) == 2 && len(whole.History) > 1, "%+v", whole)
		speak.Equal(textOf(whole.History[0].Parts), "work")
		speak.Equal(len(get(&one).History), 1)
		// Whoever does not ask for the history gets none.
		speak.Equal(len(get(nil).History), 0)
	}},

	{Name: "cancel", Run: func(ctx context.Context, p *peer) {
		id, rest := waiting(ctx, p.full)
		canceled := speak.Must(p.full.CancelTasks(ctx, protocol.TaskIDParams{ID: id}))
		speak.Check(canceled.ID == id && canceled.Status.State == protocol.TaskStateCanceled, "%+v", canceled)
		speak.Equal(statesOf(collect(rest)), []protocol.TaskState{protocol.TaskStateCanceled})
	}},

	{Name: "input-required", Run: func(ctx context.Context, p *peer) {
		question := speak.Must(p.full.SendTasks(ctx, send("ask")))
		speak.Equal(question.Status.State, protocol.TaskStateInputRequired)
		speak.Equal(textOf(question.Status.Message.Parts), "which one?")
		answer := speak.Must(p.full.SendTasks(ctx, send("the red one", toTask(question.ID), inSession(*question.SessionID))))
		speak.Equal([]string{answer.ID, *answer.SessionID}, []string{question.ID, *question.SessionID})
		speak.Equal(answer.Status.State, protocol.TaskStateCompleted)
		speak.Equal(textOf(answer.Artifacts[0].Parts), "you said the red one")
	}},

	// 0.1 has no state of its own for this and the next.
	{Name: "auth-required", Run: func(ctx context.Context, p *peer) {
		status := speak.Must(p.full.SendTasks(ctx, send("login"))).Status
		speak.Equal(status.State, protocol.TaskStateInputRequired)
		speak.Equal(textOf(status.Message.Parts), "log in first")
	}},

	{Name: "rejected", Run: func(ctx context.Context, p *peer) {
		status := speak.Must(p.full.SendTasks(ctx, send("refuse"))).Status
		speak.Equal(status.State, protocol.TaskStateFailed)
		speak.Equal(textOf(status.Message.Parts), "not that")
	}},

	{Name: "failed", Run: func(ctx context.Context, p *peer) {
		task := speak.Must(p.full.SendTasks(ctx, send("crash")))
		speak.Equal(task.Status.State, protocol.TaskStateFailed)
		speak.Check(!strings.Contains(inJSON(task), "secret"), "it says too much: %s", inJSON(task))
	}},
}

func file(name, mimeType, bytes, uri string) protocol.FilePart {
	content := protocol.FileContent{Name: &name, MimeType: &mimeType}
	if uri == "" {
		content.Bytes = &bytes
	} else {
		content.URI = &uri
	}
	return protocol.FilePart{Type: protocol.PartTypeFile, File: content}
}

// inJSON makes parts comparable: the SDK reads them by pointer and writes them by value.
func inJSON(value any) string {
	return string(speak.Must(json.Marshal(value)))
}
