package main

import (
	"fmt"
	"strings"
)

// An event holds the checked parts of an answer or a stream event.
type event struct {
	// message, task, artifactUpdate or statusUpdate.
	kind string
	// Of a message.
	fromAgent bool
	// Of a task and of a status update.
	completed bool
	// One for each artifact of a task; the text of a message or of an artifact update.
	texts []string
}

// What a script of the corpus is answered with: one event, or a stream.
type check struct {
	answer func(event) error
	// The chunks of a stream.
	chunks int
}

const (
	answerText = "pong"
	chunkBytes = 200
)

var filler = strings.Repeat("abcdefghijklmnopqrstuvwxyz ", 8)

func chunkText(index int) string {
	return fmt.Sprintf("%08d %s", index, filler)[:chunkBytes]
}

func expect(text string) (check, error) {
	switch text {
	case "message":
		return check{answer: func(e event) error {
			if e.kind != "message" || !e.fromAgent || !e.says(answerText) {
				return fmt.Errorf("not the reply: %+v", e)
			}
			return nil
		}}, nil
	case "task":
		return check{answer: func(e event) error {
			if e.kind != "task" || !e.completed || !e.says(answerText) {
				return fmt.Errorf("not the completed task: %+v", e)
			}
			return nil
		}}, nil
	}
	var chunks int
	if _, err := fmt.Sscanf(text, "stream %d", &chunks); err != nil {
		return check{}, fmt.Errorf("no script of the corpus that can be checked: %q", text)
	}
	return check{chunks: chunks}, nil
}

func (e event) says(text string) bool {
	return len(e.texts) == 1 && e.texts[0] == text
}

// A reader checks the events of one stream.
type reader struct {
	next      int
	completed bool
}

func (r *reader) take(e event) error {
	switch e.kind {
	case "artifactUpdate":
		if !e.says(chunkText(r.next)) {
			return fmt.Errorf("chunk %d was %q", r.next, e.texts)
		}
		r.next++
	case "statusUpdate":
		r.completed = e.completed
	}
	return nil
}

func (r *reader) end(chunks int) error {
	if r.next != chunks || !r.completed {
		return fmt.Errorf("the stream ended after %d of %d chunks, completed: %t", r.next, chunks, r.completed)
	}
	return nil
}
