package main

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

const (
	answerText = "pong"
	artifactID = "report"
	chunkBytes = 200
)

var filler = strings.Repeat("abcdefghijklmnopqrstuvwxyz ", 8)

// An executor answers the scripts of bench/corpus.ts that this side is measured with: message, task and stream N.
type executor struct{}

var _ a2asrv.AgentExecutor = executor{}

func (executor) Execute(_ context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := textOf(exec.Message)
		if text == "message" {
			reply := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(answerText))
			reply.ContextID = exec.ContextID
			yield(reply, nil)
			return
		}
		if !yield(workingTask(exec), nil) || !yieldArtifacts(exec, text, yield) {
			return
		}
		yield(a2a.NewStatusUpdateEvent(exec, a2a.TaskStateCompleted, nil), nil)
	}
}

func (executor) Cancel(_ context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(exec, a2a.TaskStateCanceled, nil), nil)
	}
}

func workingTask(exec *a2asrv.ExecutorContext) *a2a.Task {
	task := a2a.NewSubmittedTask(exec, exec.Message)
	task.Status.State = a2a.TaskStateWorking
	return task
}

// yieldArtifacts returns whether the turn goes on.
func yieldArtifacts(exec *a2asrv.ExecutorContext, text string, yield func(a2a.Event, error) bool) bool {
	if text == "task" {
		return yield(a2a.NewArtifactEvent(exec, a2a.NewTextPart(answerText)), nil)
	}
	var count int
	if _, err := fmt.Sscanf(text, "stream %d", &count); err != nil {
		yield(nil, fmt.Errorf("no such script: %q: %w", text, a2a.ErrInvalidParams))
		return false
	}
	for index := range count {
		part := a2a.NewTextPart(fmt.Sprintf("%08d %s", index, filler)[:chunkBytes])
		chunk := a2a.NewArtifactUpdateEvent(exec, artifactID, part)
		chunk.Append = index > 0
		if !yield(chunk, nil) {
			return false
		}
		runtime.Gosched()
	}
	return true
}

func textOf(message *a2a.Message) string {
	var text strings.Builder
	for _, part := range message.Parts {
		text.WriteString(part.Text())
	}
	return text.String()
}
