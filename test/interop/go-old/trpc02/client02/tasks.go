package main

import (
	"context"
	"strings"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

var taskCases = []testCase{
	{Name: "task", Run: func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("work"))
		speak.Equal(task.Status.State, protocol.TaskStateCompleted)
		speak.Equal(textOf(task.Status.Message.Parts), "done")
		speak.Check(task.Status.Timestamp != "", "there is no timestamp")
		speak.Check(len(task.Artifacts) == 2, "%+v", task.Artifacts)
		report, extra := task.Artifacts[0], task.Artifacts[1]
		speak.Equal([]string{report.ArtifactID, *report.Name, textOf(report.Parts)}, []string{"report", "Report", "one two"})
		told := jsonOf(extra.Parts)
		for _, piece := range []string{`"ratio":0.5`, `"list":[1,null,"x"]`, `"bytes":"AAH+/w=="`, `"name":"raw.bin"`} {
			speak.Check(strings.Contains(told, piece), "%s lacks %s", told, piece)
		}
	}},

	{Name: "return-immediately", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		speak.Check(isOpen(getTask(ctx, p.full, id).Status), "it is not at work")
		after := taskOf(ctx, p.full, send("now", toTask(id)))
		speak.Equal(after.Status.State, protocol.TaskStateCompleted)
		speak.Equal(textOf(after.Artifacts[0].Parts), "heard now")
	}},

	{Name: "get", Run: func(ctx context.Context, p *peer) {
		id := taskOf(ctx, p.full, send("work")).ID
		get := func(length int) *protocol.Task {
			return speak.Must(p.full.GetTasks(ctx, protocol.TaskQueryParams{ID: id, HistoryLength: &length}))
		}
		whole := get(10)
		speak.Check(whole.ID == id && len(whole.Artifacts) == 2 && len(whole.History) > 1, "%+v", whole)
		speak.Equal(textOf(whole.History[0].Parts), "work")
		speak.Equal(len(get(1).History), 1)
		speak.Equal(len(get(0).History), 0)
	}},

	{Name: "cancel", Run: func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		speak.Equal(cancel(ctx, p.full, id).Status.State, protocol.TaskStateCanceled)
		speak.Equal(getTask(ctx, p.full, id).Status.State, protocol.TaskStateCanceled)
	}},

	{Name: "input-required", Run: func(ctx context.Context, p *peer) {
		question := taskOf(ctx, p.full, send("ask"))
		speak.Equal(question.Status.State, protocol.TaskStateInputRequired)
		speak.Equal(textOf(question.Status.Message.Parts), "which one?")
		answer := taskOf(ctx, p.full, send("the red one", toTask(question.ID), inContext(question.ContextID)))
		speak.Check(answer.ID == question.ID && answer.ContextID == question.ContextID, "%+v", answer)
		speak.Equal(answer.Status.State, protocol.TaskStateCompleted)
		speak.Equal(textOf(answer.Artifacts[0].Parts), "you said the red one")
	}},

	{Name: "auth-required", Run: func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("login"))
		speak.Equal(task.Status.State, protocol.TaskStateAuthRequired)
		speak.Equal(textOf(task.Status.Message.Parts), "log in first")
	}},

	{Name: "rejected", Run: func(ctx context.Context, p *peer) {
		speak.Equal(taskOf(ctx, p.full, send("refuse")).Status.State, protocol.TaskStateRejected)
	}},

	{Name: "failed", Run: func(ctx context.Context, p *peer) {
		speak.Equal(taskOf(ctx, p.full, send("crash")).Status.State, protocol.TaskStateFailed)
	}},
}
