package main

import (
	"context"
	"encoding/base64"

	"github.com/a2aproject/a2a-go/a2a"
	"trivium.example/interop/old/speak"
)

var taskCases = []testCase{
	{Name: "task", Run: func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("work"))
		speak.Equal(task.Status.State, a2a.TaskStateCompleted)
		speak.Equal(textOf(task.Status.Message.Parts), "done")
		speak.Check(task.Status.Timestamp != nil, "there is no timestamp")
		speak.Check(len(task.Artifacts) == 2, "%+v", task.Artifacts)
		report, extra := task.Artifacts[0], task.Artifacts[1]
		speak.Equal([]string{string(report.ID), report.Name, textOf(report.Parts)}, []string{"report", "Report", "one two"})
		numbers, ok := extra.Parts[0].(a2a.DataPart)
		speak.Check(ok, "%+v is no data", extra.Parts[0])
		nested := map[string]any{"list": []any{1.0, nil, "x"}}
		speak.Equal(numbers.Data, map[string]any{"count": 3.0, "ratio": 0.5, "nested": nested})
		file, ok := extra.Parts[1].(a2a.FilePart)
		speak.Check(ok, "%+v is no file", extra.Parts[1])
		content, ok := file.File.(a2a.FileBytes)
		speak.Check(ok, "%+v has no bytes", file)
		speak.Equal(content.Bytes, base64.StdEncoding.EncodeToString([]byte{0, 1, 254, 255}))
		speak.Equal(content.Name, "raw.bin")
	}},

	{Name: "return-immediately", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		speak.Check(isOpen(getTask(ctx, p.full, id).Status), "it is not at work")
		after := taskOf(ctx, p.full, send("now", toTask(id)))
		speak.Equal(after.Status.State, a2a.TaskStateCompleted)
		speak.Equal(textOf(after.Artifacts[0].Parts), "heard now")
	}},

	{Name: "get", Run: func(ctx context.Context, p *peer) {
		id := taskOf(ctx, p.full, send("work")).ID
		get := func(length int) *a2a.Task {
			return speak.Must(p.full.GetTask(ctx, &a2a.TaskQueryParams{ID: id, HistoryLength: &length}))
		}
		whole := get(10)
		speak.Check(whole.ID == id && len(whole.Artifacts) == 2 && len(whole.History) > 1, "%+v", whole)
		speak.Equal(textOf(whole.History[0].Parts), "work")
		speak.Equal(len(get(1).History), 1)
		if !p.overProto {
			speak.Equal(len(get(0).History), 0)
		}
	}},

	{Name: "cancel", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		speak.Equal(cancel(ctx, p.full, id).Status.State, a2a.TaskStateCanceled)
		speak.Equal(getTask(ctx, p.full, id).Status.State, a2a.TaskStateCanceled)
	}},

	{Name: "input-required", Run: func(ctx context.Context, p *peer) {
		question := taskOf(ctx, p.full, send("ask"))
		speak.Equal(question.Status.State, a2a.TaskStateInputRequired)
		speak.Equal(textOf(question.Status.Message.Parts), "which one?")
		answer := taskOf(ctx, p.full, send("the red one", toTask(question.ID), inContext(question.ContextID)))
		speak.Check(answer.ID == question.ID && answer.ContextID == question.ContextID, "%+v", answer)
		speak.Equal(answer.Status.State, a2a.TaskStateCompleted)
		speak.Equal(textOf(answer.Artifacts[0].Parts), "you said the red one")
	}},

	{Name: "auth-required", Run: func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("login"))
		speak.Equal(task.Status.State, a2a.TaskStateAuthRequired)
		speak.Equal(textOf(task.Status.Message.Parts), "log in first")
	}},

	{Name: "rejected", Run: func(ctx context.Context, p *peer) {
		speak.Equal(taskOf(ctx, p.full, send("refuse")).Status.State, a2a.TaskStateRejected)
	}},

	{Name: "failed", Run: func(ctx context.Context, p *peer) {
		speak.Equal(taskOf(ctx, p.full, send("crash")).Status.State, a2a.TaskStateFailed)
	}},
}
