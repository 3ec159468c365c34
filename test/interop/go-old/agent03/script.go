package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
)

// A script does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it repeats what it was given.
type script struct {
	turns map[string]func(*turn) error
}

var _ a2asrv.AgentExecutor = (*script)(nil)

func newScript() *script {
	return &script{map[string]func(*turn) error{
		"message": func(t *turn) error { return t.reply(a2a.TextPart{Text: "hello"}) },
		"task":    func(t *turn) error { return t.task(a2a.TextPart{Text: "the result"}) },
		"stream":  stream,
		"file":    func(t *turn) error { return t.task(t.given.Message.Parts[1:]...) },
		"ask":     ending(a2a.TaskStateInputRequired, "which one?"),
		"auth":    ending(a2a.TaskStateAuthRequired, "log in first"),
		"fail":    ending(a2a.TaskStateFailed, "it broke"),
		"reject":  ending(a2a.TaskStateRejected, "not that"),
		"slow": func(t *turn) error {
			t.begin()
			t.status(a2a.TaskStateWorking, "on it")
			if t.failure != nil {
				return t.failure
			}
			<-t.ctx.Done()
			return nil
		},
	}}
}

func (s *script) Execute(ctx context.Context, given *a2asrv.RequestContext, queue eventqueue.Queue) error {
	t := &turn{ctx, given, queue, nil}
	text := textOf(given.Message)
	word, _, _ := strings.Cut(text, " ")
	if given.StoredTask != nil {
		t.artifact(a2a.TextPart{Text: "you said " + text})
		t.status(a2a.TaskStateCompleted, "done")
		return t.failure
	}
	if play, ok := s.turns[word]; ok {
		return play(t)
	}
	return t.reply(given.Message.Parts...)
}

func (s *script) Cancel(ctx context.Context, given *a2asrv.RequestContext, queue eventqueue.Queue) error {
	t := &turn{ctx, given, queue, nil}
	t.status(a2a.TaskStateCanceled, "stopped")
	return t.failure
}

func stream(t *turn) error {
	var count, paceMs int
	if read, _ := fmt.Sscanf(textOf(t.given.Message), "stream %d %d", &count, &paceMs); read == 0 {
		return fmt.Errorf("how many chunks? %w", a2a.ErrInvalidParams)
	}
	t.begin()
	t.status(a2a.TaskStateWorking, "on it")
	for index := range count {
		chunk := t.chunk(a2a.TextPart{Text: fmt.Sprintf("%d,", index)})
		chunk.Append = index > 0
		chunk.LastChunk = index == count-1
		t.write(chunk)
		time.Sleep(time.Duration(paceMs) * time.Millisecond)
	}
	t.status(a2a.TaskStateCompleted, "done")
	return t.failure
}

func ending(state a2a.TaskState, text string) func(*turn) error {
	return func(t *turn) error {
		t.begin()
		t.status(state, text)
		return t.failure
	}
}

// A turn is what one execution says, in the words of the SDK; after a failure it says nothing more.
type turn struct {
	ctx     context.Context
	given   *a2asrv.RequestContext
	queue   eventqueue.Queue
	failure error
}

func (t *turn) write(event a2a.Event) {
	if t.failure == nil {
		t.failure = t.queue.Write(t.ctx, event)
	}
}

func (t *turn) begin() {
	t.write(a2a.NewSubmittedTask(t.given, t.given.Message))
}

// A status that leaves nothing to be said in this turn ends the stream.
func (t *turn) status(state a2a.TaskState, text string) {
	message := a2a.NewMessageForTask(a2a.MessageRoleAgent, t.given, a2a.TextPart{Text: text})
	update := a2a.NewStatusUpdateEvent(t.given, state, message)
	update.Final = state != a2a.TaskStateWorking
	t.write(update)
}

func (t *turn) task(parts ...a2a.Part) error {
	t.begin()
	t.status(a2a.TaskStateWorking, "on it")
	t.artifact(parts...)
	t.status(a2a.TaskStateCompleted, "done")
	return t.failure
}

func (t *turn) chunk(parts ...a2a.Part) *a2a.TaskArtifactUpdateEvent {
	chunk := a2a.NewArtifactUpdateEvent(t.given, "result", parts...)
	chunk.Artifact.Name = "Result"
	chunk.Append = false
	return chunk
}

func (t *turn) artifact(parts ...a2a.Part) {
	t.write(t.chunk(parts...))
}

func (t *turn) reply(parts ...a2a.Part) error {
	message := a2a.NewMessage(a2a.MessageRoleAgent, parts...)
	message.ContextID = t.given.ContextID
	t.write(message)
	return t.failure
}

func textOf(message *a2a.Message) string {
	var text strings.Builder
	for _, part := range message.Parts {
		if each, ok := part.(a2a.TextPart); ok {
			text.WriteString(each.Text)
		}
	}
	return text.String()
}
