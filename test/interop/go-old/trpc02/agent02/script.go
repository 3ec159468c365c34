package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"
)

// A script does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it
// repeats what it was given.
type script struct{}

var _ taskmanager.MessageProcessor = (*script)(nil)

var turns = map[string]func(*turn){
	"task":   func(t *turn) { t.finish(protocol.NewTextPart("the result")) },
	"stream": stream,
	"file":   func(t *turn) { t.finish(t.given.Parts[1:]...) },
	"ask":    func(t *turn) { t.status(protocol.TaskStateInputRequired, "which one?") },
	"auth":   func(t *turn) { t.status(protocol.TaskStateAuthRequired, "log in first") },
	"fail":   func(t *turn) { t.status(protocol.TaskStateFailed, "it broke") },
	"reject": func(t *turn) { t.status(protocol.TaskStateRejected, "not that") },
	"slow":   slow,
}

func (s *script) ProcessMessage(
	_ context.Context,
	given protocol.Message,
	options taskmanager.ProcessOptions,
	handler taskmanager.TaskHandler,
) (*taskmanager.MessageProcessingResult, error) {
	t := &turn{given: given, handler: handler}
	word, _, _ := strings.Cut(textOf(given.Parts), " ")
	play, known := turns[word]
	switch {
	case given.TaskID != nil && *given.TaskID != "":
		t.id = *given.TaskID
		if err := t.mustBeOpen(); err != nil {
			return nil, err
		}
		play = func(t *turn) { t.finish(protocol.NewTextPart("you said " + textOf(given.Parts))) }
	case word == "message":
		return replied([]protocol.Part{protocol.NewTextPart("hello")}, options), nil
	case !known:
		return replied(given.Parts, options), nil
	default:
		id, err := handler.BuildTask(nil, given.ContextID)
		if err != nil {
			return nil, err
		}
		t.id = id
	}
	return t.run(play, options)
}

func replied(parts []protocol.Part, options taskmanager.ProcessOptions) *taskmanager.MessageProcessingResult {
	message := protocol.NewMessage(protocol.MessageRoleAgent, parts)
	if !options.Streaming {
		return &taskmanager.MessageProcessingResult{Result: &message}
	}
	events := taskmanager.NewMemoryTaskSubscriber("", 1)
	_ = events.Send(protocol.StreamingMessageEvent{Result: &message})
	events.Close()
	return &taskmanager.MessageProcessingResult{StreamingEvents: events}
}

// A turn is what one message leads to.
type turn struct {
	id      string
	given   protocol.Message
	handler taskmanager.TaskHandler
}

func (t *turn) run(play func(*turn), options taskmanager.ProcessOptions) (*taskmanager.MessageProcessingResult, error) {
	var events taskmanager.TaskSubscriber
	if options.Streaming {
		var err error
		if events, err = t.handler.SubscribeTask(&t.id); err != nil {
			return nil, err
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		play(t)
		if events != nil {
			events.Close()
		}
	}()
	if events != nil {
		return &taskmanager.MessageProcessingResult{StreamingEvents: events}, nil
	}
	if options.Blocking {
		<-done
	}
	task, err := t.handler.GetTask(&t.id)
	if err != nil {
		return nil, err
	}
	return &taskmanager.MessageProcessingResult{Result: task.Task()}, nil
}

func (t *turn) mustBeOpen() error {
	task, err := t.handler.GetTask(&t.id)
	if err != nil {
		return err
	}
	if state := task.Task().Status.State; state == protocol.TaskStateCompleted {
		return taskmanager.ErrUnsupportedOperation("message to a task that is " + string(state))
	}
	return nil
}

func stream(t *turn) {
	var count, paceMs int
	_, _ = fmt.Sscanf(textOf(t.given.Parts), "stream %d %d", &count, &paceMs)
	t.status(protocol.TaskStateWorking, "on it")
	for index := range count {
		t.chunk(index > 0, index == count-1, protocol.NewTextPart(fmt.Sprintf("%d,", index)))
		time.Sleep(time.Duration(paceMs) * time.Millisecond)
	}
	t.status(protocol.TaskStateCompleted, "done")
}

// A task that is canceled is there no longer; the SDK says so in no other way.
func slow(t *turn) {
	t.status(protocol.TaskStateWorking, "on it")
	for {
		if _, err := t.handler.GetTask(&t.id); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (t *turn) finish(parts ...protocol.Part) {
	t.status(protocol.TaskStateWorking, "on it")
	t.chunk(false, true, parts...)
	t.status(protocol.TaskStateCompleted, "done")
}

func (t *turn) status(state protocol.TaskState, text string) {
	message := protocol.NewMessage(protocol.MessageRoleAgent, []protocol.Part{protocol.NewTextPart(text)})
	message.TaskID, message.ContextID = &t.id, t.given.ContextID
	_ = t.handler.UpdateTaskState(&t.id, state, &message)
}

// What the SDK calls the need of more data it sends as the mark of a chunk that goes on.
func (t *turn) chunk(more, last bool, parts ...protocol.Part) {
	name := "Result"
	_ = t.handler.AddArtifact(&t.id, protocol.Artifact{ArtifactID: "result", Name: &name, Parts: parts}, last, more)
}

func textOf(parts []protocol.Part) string {
	var text strings.Builder
	for _, part := range parts {
		switch each := part.(type) {
		case protocol.TextPart:
			text.WriteString(each.Text)
		case *protocol.TextPart:
			text.WriteString(each.Text)
		}
	}
	return text.String()
}
