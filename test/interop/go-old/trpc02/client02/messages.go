package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
)

const contextID = "c0ffee00-0000-7000-8000-000000000000"

var messageCases = []testCase{
	{Name: "card", Run: func(_ context.Context, p *peer) {
		card := p.card
		speak.Equal([]string{card.Name, card.Version, card.Provider.Organization}, []string{"Interop", "1.2.3", "Trivium"})
		speak.Check(*card.Capabilities.Streaming && *card.Capabilities.PushNotifications, "%+v", card.Capabilities)
		speak.Equal(card.Skills[0].Examples, []string{"work"})
	}},

	{Name: "extended-card", Run: func(ctx context.Context, p *peer) {
		card := speak.Must(p.full.GetAuthenticatedExtendedCard(ctx))
		speak.Check(len(card.Skills) == 2 && card.Skills[1].ID == "inner", "%+v", card.Skills)
	}},

	{Name: "message", Run: func(ctx context.Context, p *peer) {
		message := messageOf(ctx, p.full, send("pong ü 漢 🙂"))
		speak.Equal(textOf(message.Parts), "pong pong ü 漢 🙂")
		speak.Equal(message.Role, protocol.MessageRoleAgent)
		speak.Check(message.ContextID != nil && *message.ContextID != "" && message.TaskID == nil, "%+v", message)
	}},

	{Name: "echo", Run: func(ctx context.Context, p *peer) {
		text := protocol.NewTextPart("echo")
		text.Metadata = map[string]any{"size": 3.0}
		parts := []protocol.Part{
			text,
			protocol.NewDataPart(map[string]any{"list": []any{1.0, 2.5, nil, true, "x"}, "nested": map[string]any{}}),
			protocol.NewFilePartWithBytes("f.bin", "application/octet-stream", "AH+A/w=="),
			protocol.NewFilePartWithURI("a.txt", "text/plain", "https://files.example/a.txt"),
		}
		metadata := map[string]any{"a": []any{1.0, map[string]any{"b": nil}}, "c": "d"}
		message := messageOf(ctx, p.full, sendParts(parts, func(request *protocol.SendMessageParams) {
			request.Message.Metadata = metadata
		}))
		speak.Equal(jsonOf(message.Parts), jsonOf(parts))
		speak.Equal(message.Metadata, metadata)
	}},

	{Name: "stream-message", Run: func(ctx context.Context, p *peer) {
		events := stream(ctx, p.full, send("pong"))
		speak.Check(len(events) == 1, "%+v", events)
		message, ok := events[0].(*protocol.Message)
		speak.Check(ok && textOf(message.Parts) == "pong pong", "%+v", events[0])
	}},

	{Name: "parallel", Run: func(ctx context.Context, p *peer) {
		answers := make([]string, 50)
		var group sync.WaitGroup
		for index := range answers {
			group.Go(func() {
				// A panic here would end the program; what is missing is seen below.
				answer, err := p.full.SendMessage(ctx, send(fmt.Sprintf("pong %d", index)))
				if err != nil {
					return
				}
				if message, ok := answer.Result.(*protocol.Message); ok {
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
		parts := []protocol.Part{protocol.NewTextPart("echo"), protocol.NewTextPart(long)}
		speak.Check(textOf(messageOf(ctx, p.full, sendParts(parts)).Parts) == "echo"+long, "the text has changed")
	}},

	{Name: "context", Run: func(ctx context.Context, p *peer) {
		first := taskOf(ctx, p.full, send("work", inContext(contextID)))
		second := taskOf(ctx, p.full, send("work", inContext(contextID), func(request *protocol.SendMessageParams) {
			request.Message.ReferenceTaskIDs = []string{first.ID}
		}))
		speak.Equal([]string{first.ContextID, second.ContextID}, []string{contextID, contextID})
		speak.Check(first.ID != second.ID && second.Status.State == protocol.TaskStateCompleted, "%+v", second)
	}},

	{Name: "extensions", Run: func(ctx context.Context, p *peer) {
		named := client.WithRequestHeader("X-A2A-Extensions", "urn:trivium:interop, urn:nobody:knows")
		answer := speak.Must(p.full.SendMessage(ctx, send("extensions"), named))
		message, ok := answer.Result.(*protocol.Message)
		speak.Check(ok && textOf(message.Parts) == "urn:trivium:interop", "%+v", answer.Result)
	}},
}

func jsonOf(value any) string {
	return string(speak.Must(json.Marshal(value)))
}
