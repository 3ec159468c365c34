package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// A script does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it repeats the text.
type script struct {
	turns map[string]func(*turn)
}

var _ a2asrv.AgentExecutor = (*script)(nil)

func newScript() *script {
	return &script{map[string]func(*turn){
		"message": func(t *turn) { t.reply("hello") },
		"task": func(t *turn) {
			t.begin()
			t.status(a2a.TaskStateWorking, "on it")
			t.artifact("the result")
			t.status(a2a.TaskStateCompleted, "done")
		},
		"stream": stream,
		"ask":    ending(a2a.TaskStateInputRequired, "which one?"),
		"auth":   ending(a2a.TaskStateAuthRequired, "log in first"),
		"fail":   ending(a2a.TaskStateFailed, "it broke"),
		"reject": ending(a2a.TaskStateRejected, "not that"),
		"slow": func(t *turn) {
			t.begin()
			t.status(a2a.TaskStateWorking, "on it")
			<-t.ctx.Done()
		},
	}}
}

func (s *script) Execute(ctx context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t := &turn{ctx, exec, yield, textOf(exec.Message)}
		word, _, _ := strings.Cut(t.text, " ")
		if exec.StoredTask != nil {
			t.artifact("you said " + t.text)
			t.status(a2a.TaskStateCompleted, "done")
		} else if play, ok := s.turns[word]; ok {
			play(t)
		} else {
			t.reply(t.text)
		}
	}
}

func (s *script) Cancel(ctx context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		(&turn{ctx, exec, yield, ""}).status(a2a.TaskStateCanceled, "stopped")
	}
}

func stream(t *turn) {
	var count, paceMs int
	if read, _ := fmt.Sscanf(t.text, "stream %d %d", &count, &paceMs); read == 0 {
		t.yield(nil, fmt.Errorf("how many chunks? %w", a2a.ErrInvalidParams))
		return
	}
	t.begin()
	t.status(a2a.TaskStateWorking, "on it")
	for index := range count {
		chunk := t.chunk(fmt.Sprintf("%d,", index))
		chunk.Append = index > 0
		chunk.LastChunk = index == count-1
		t.yield(chunk, nil)
		time.Sleep(time.Duration(paceMs) * time.Millisecond)
	}
	t.status(a2a.TaskStateCompleted, "done")
}

func ending(state a2a.TaskState, text string) func(*turn) {
	return func(t *turn) {
		t.begin()
		t.status(state, text)
	}
}

// A turn is what one execution says, in the words of the SDK.
type turn struct {
	ctx   context.Context
	exec  *a2asrv.ExecutorContext
	yield func(a2a.Event, error) bool
	text  string
}

func (t *turn) begin() {
	t.yield(a2a.NewSubmittedTask(t.exec, t.exec.Message), nil)
}

func (t *turn) status(state a2a.TaskState, text string) {
	message := a2a.NewMessageForTask(a2a.MessageRoleAgent, t.exec, a2a.NewTextPart(text))
	t.yield(a2a.NewStatusUpdateEvent(t.exec, state, message), nil)
}

func (t *turn) chunk(text string) *a2a.TaskArtifactUpdateEvent {
	chunk := a2a.NewArtifactUpdateEvent(t.exec, "result", a2a.NewTextPart(text))
	chunk.Artifact.Name = "Result"
	chunk.Append = false
	return chunk
}

func (t *turn) artifact(text string) {
	t.yield(t.chunk(text), nil)
}

func (t *turn) reply(text string) {
	message := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	message.ContextID = t.exec.ContextID
	t.yield(message, nil)
}

func textOf(message *a2a.Message) string {
	var text strings.Builder
	for _, part := range message.Parts {
		text.WriteString(part.Text())
	}
	return text.String()
}
