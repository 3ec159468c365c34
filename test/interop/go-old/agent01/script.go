package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"
)

// The SDK drops the events that a buffer of ten has no room for: an agent has to leave its reader the time to read.
const pace = 2 * time.Millisecond

// A script does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it repeats what it was given.
type script struct {
	// The tasks that wait for an answer: the SDK does not say which message is one.
	asked sync.Map
}

var _ taskmanager.TaskProcessor = (*script)(nil)

func newScript() *script {
	return &script{}
}

func (s *script) Process(ctx context.Context, id string, given protocol.Message, task taskmanager.TaskHandle) error {
	text := textOf(given)
	if _, waited := s.asked.LoadAndDelete(id); waited {
		return finish(task, protocol.NewTextPart("you said "+text))
	}
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "message":
		return task.UpdateStatus(protocol.TaskStateCompleted, saying("hello"))
	case "task":
		return finish(task, protocol.NewTextPart("the result"))
	case "stream":
		return stream(task, text)
	case "file":
		return finish(task, given.Parts[1:]...)
	case "ask":
		s.asked.Store(id, true)
		return task.UpdateStatus(protocol.TaskStateInputRequired, saying("which one?"))
	case "fail":
		return task.UpdateStatus(protocol.TaskStateFailed, saying("it broke"))
	case "slow":
		<-ctx.Done()
		return nil
	default:
		answer := protocol.NewMessage(protocol.MessageRoleAgent, given.Parts)
		return task.UpdateStatus(protocol.TaskStateCompleted, &answer)
	}
}

func finish(task taskmanager.TaskHandle, parts ...protocol.Part) error {
	if err := task.AddArtifact(chunk(0, true, parts...)); err != nil {
		return err
	}
	return task.UpdateStatus(protocol.TaskStateCompleted, saying("done"))
}

func stream(task taskmanager.TaskHandle, text string) error {
	var count, paceMs int
	if read, err := fmt.Sscanf(text, "stream %d %d", &count, &paceMs); read == 0 {
		return err
	}
	for index := range count {
		part := protocol.NewTextPart(fmt.Sprintf("%d,", index))
		if err := task.AddArtifact(chunk(index, index == count-1, part)); err != nil {
			return err
		}
		time.Sleep(max(pace, time.Duration(paceMs)*time.Millisecond))
	}
	return task.UpdateStatus(protocol.TaskStateCompleted, saying("done"))
}

// chunk is a piece of the one artifact; the first one begins it.
func chunk(number int, last bool, parts ...protocol.Part) protocol.Artifact {
	name, more := "Result", number > 0
	return protocol.Artifact{Name: &name, Parts: parts, Append: &more, LastChunk: &last}
}

func saying(text string) *protocol.Message {
	message := protocol.NewMessage(protocol.MessageRoleAgent, []protocol.Part{protocol.NewTextPart(text)})
	return &message
}

func textOf(message protocol.Message) string {
	var text strings.Builder
	for _, part := range message.Parts {
		switch each := part.(type) {
		case protocol.TextPart:
			text.WriteString(each.Text)
		case *protocol.TextPart:
			text.WriteString(each.Text)
		}
	}
	return text.String()
}
