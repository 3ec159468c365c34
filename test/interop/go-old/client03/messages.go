package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/a2a"
	"trivium.example/interop/old/speak"
)

const contextID = "c0ffee00-0000-7000-8000-000000000000"

var messageCases = []testCase{
	{Name: "card", Run: func(_ context.Context, p *peer) {
		card := p.card
		speak.Equal([]string{card.Name, card.Version, card.Provider.Org}, []string{"Interop", "1.2.3", "Trivium"})
		speak.Check(card.Capabilities.Streaming && card.Capabilities.PushNotifications, "%+v", card.Capabilities)
		speak.Equal(card.Skills[0].Examples, []string{"work"})
		speak.Equal(card.ProtocolVersion, "0.3.0")
		speak.Equal(card.PreferredTransport, a2a.TransportProtocolJSONRPC)
	}},

	{Name: "extended-card", Run: func(ctx context.Context, p *peer) {
		card := speak.Must(p.full.GetAgentCard(ctx))
		speak.Check(len(card.Skills) == 2 && card.Skills[1].ID == "inner", "%+v", card.Skills)
	}},

	{Name: "message", Run: func(ctx context.Context, p *peer) {
		message := messageOf(ctx, p.full, send("pong ü 漢 🙂"))
		speak.Equal(textOf(message.Parts), "pong pong ü 漢 🙂")
		speak.Equal(message.Role, a2a.MessageRoleAgent)
		speak.Check(message.ContextID != "" && message.TaskID == "", "%+v", message)
	}},

	{Name: "echo", Run: func(ctx context.Context, p *peer) {
		metadata := map[string]any{"a": []any{1.0, map[string]any{"b": nil}}, "c": "d"}
		parts := a2a.ContentParts{
			a2a.TextPart{Text: "echo", Metadata: map[string]any{"size": 3.0}},
			a2a.DataPart{Data: map[string]any{"list": []any{1.0, 2.5, nil, true, "x"}, "nested": map[string]any{}}},
			a2a.FilePart{File: a2a.FileBytes{
				FileMeta: a2a.FileMeta{Name: "f.bin", MimeType: "application/octet-stream"}, Bytes: "AH+A/w==",
			}},
			a2a.FilePart{File: a2a.FileURI{
				FileMeta: a2a.FileMeta{Name: "a.txt", MimeType: "text/plain"}, URI: "https://files.example/a.txt",
			}},
		}
		request := sendParts(parts)
		request.Message.Metadata = metadata
		message := messageOf(ctx, p.full, request)
		speak.Equal(fmt.Sprintf("%+v", message.Parts), fmt.Sprintf("%+v", parts))
		speak.Equal(message.Metadata, metadata)
	}},

	{Name: "stream-message", Run: func(ctx context.Context, p *peer) {
		events := speak.Must(collect(p.full.SendStreamingMessage(ctx, send("pong"))))
		speak.Check(len(events) == 1, "%+v", events)
		message, ok := events[0].(*a2a.Message)
		speak.Check(ok && textOf(message.Parts) == "pong pong", "%+v", events[0])
	}},

	{Name: "parallel", Run: func(ctx context.Context, p *peer) {
		answers := make([]string, 50)
		var group sync.WaitGroup
		for index := range answers {
			group.Go(func() {
				// A panic here would end the program; what is missing is seen below.
				answer, err := p.full.SendMessage(ctx, send(fmt.Sprintf("pong %d", index)))
				if message, ok := answer.(*a2a.Message); ok && err == nil {
					answers[index] = textOf(message.Parts)
				}
			})
		}
		group.Wait()
		for index, answer := range answers {
			speak.Equal(answer, fmt.Sprintf("pong pong %d", index))
		}
	}},

	{Name: "large", Run: func(ctx context.Context, p *peer) {
		long := strings.Repeat("0123456789abcdeé", 65_536)
		parts := a2a.ContentParts{a2a.TextPart{Text: "echo"}, a2a.TextPart{Text: long}}
		speak.Check(textOf(messageOf(ctx, p.full, sendParts(parts)).Parts) == "echo"+long, "the text has changed")
	}},

	{Name: "context", Run: func(ctx context.Context, p *peer) {
		first := taskOf(ctx, p.full, send("work", inContext(contextID)))
		second := taskOf(ctx, p.full, send("work", inContext(contextID), func(request *a2a.MessageSendParams) {
			request.Message.ReferenceTasks = []a2a.TaskID{first.ID}
		}))
		speak.Equal([]string{first.ContextID, second.ContextID}, []string{contextID, contextID})
		speak.Check(first.ID != second.ID && second.Status.State == a2a.TaskStateCompleted, "%+v", second)
	}},

	{Name: "extensions", Run: func(ctx context.Context, p *peer) {
		active := with(ctx, "x-a2a-extensions", "urn:trivium:interop, urn:nobody:knows")
		speak.Equal(textOf(messageOf(active, p.full, send("extensions")).Parts), "urn:trivium:interop")
	}},
}
