package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

var messageCases = []testCase{
	{"card", func(_ context.Context, p *peer) {
		card := p.card
		equal([]string{card.Name, card.Version, card.Provider.Org}, []string{"Interop", "1.2.3", "Trivium"})
		check(card.Capabilities.Streaming && card.Capabilities.PushNotifications, "not capable: %+v", card.Capabilities)
		equal(card.Skills[0].Examples, []string{"work"})
		named := slices.ContainsFunc(card.SupportedInterfaces, func(each *a2a.AgentInterface) bool {
			return each.ProtocolBinding == p.binding && each.ProtocolVersion == "1.0"
		})
		check(named, "no interface for %s", p.binding)
	}},

	{"extended-card", func(ctx context.Context, p *peer) {
		card := must(p.full.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}))
		var ids []string
		for _, skill := range card.Skills {
			ids = append(ids, skill.ID)
		}
		equal(ids, []string{"words", "inner"})
	}},

	{"message", func(ctx context.Context, p *peer) {
		answer := messageOf(ctx, p.full, send("pong ü 漢 🙂"))
		equal(textOf(answer.Parts), "pong pong ü 漢 🙂")
		equal(answer.Role, a2a.MessageRoleAgent)
		check(answer.ContextID != "" && answer.TaskID == "", "it belongs to %+v", answer.TaskInfo())
	}},

	{"echo", func(ctx context.Context, p *peer) {
		data := map[string]any{"list": []any{1.0, 2.5, nil, true, "x"}, "nested": map[string]any{"empty": map[string]any{}}}
		parts := []*a2a.Part{
			a2a.NewTextPart("echo"),
			{Content: a2a.Data{Value: data}, MediaType: "application/json"},
			{Content: a2a.Raw{0, 127, 128, 255}, Filename: "f.bin", MediaType: "application/octet-stream"},
			{Content: a2a.URL("https://files.example/a.txt"), MediaType: "text/plain", Metadata: map[string]any{"size": 3.0}},
		}
		metadata := map[string]any{"a": []any{1.0, map[string]any{"b": nil}}, "c": "d"}
		answer := messageOf(ctx, p.full, sendParts(parts, func(request *a2a.SendMessageRequest) {
			request.Message.Metadata = metadata
		}))
		equal(answer.Metadata, metadata)
		equal(len(answer.Parts), len(parts))
		for index, part := range parts {
			equal(*answer.Parts[index], *part)
		}
	}},

	{"stream-message", func(ctx context.Context, p *peer) {
		events := must(collect(p.full.SendStreamingMessage(ctx, send("pong"))))
		equal(len(events), 1)
		message, ok := events[0].(*a2a.Message)
		check(ok, "%+v is no message", events[0])
		equal(textOf(message.Parts), "pong pong")
	}},

	{"parallel", func(ctx context.Context, p *peer) {
		var answers [50]a2a.SendMessageResult
		var failures [50]error
		var group sync.WaitGroup
		for index := range answers {
			group.Go(func() {
				answers[index], failures[index] = p.full.SendMessage(ctx, send(fmt.Sprintf("pong %d", index)))
			})
		}
		group.Wait()
		for index, answer := range answers {
			message, ok := must(answer, failures[index]).(*a2a.Message)
			check(ok, "%+v is no message", answer)
			equal(textOf(message.Parts), fmt.Sprintf("pong pong %d", index))
		}
	}},

	{"large", func(ctx context.Context, p *peer) {
		long := strings.Repeat("0123456789abcdeé", 65_536)
		answer := messageOf(ctx, p.full, sendParts([]*a2a.Part{a2a.NewTextPart("echo"), a2a.NewTextPart(long)}))
		check(textOf(answer.Parts) == "echo"+long, "it was changed")
	}},

	{"context", func(ctx context.Context, p *peer) {
		id := a2a.NewContextID()
		first := taskOf(ctx, p.full, send("work", inContext(id)))
		second := taskOf(ctx, p.full, send("work", inContext(id), func(request *a2a.SendMessageRequest) {
			request.Message.ReferenceTasks = []a2a.TaskID{first.ID}
		}))
		equal([]string{first.ContextID, second.ContextID, stateOf(second.Status)}, []string{id, id, "COMPLETED"})
		check(first.ID != second.ID, "both are %s", first.ID)
	}},

	{"extensions", func(ctx context.Context, p *peer) {
		uris := []string{"urn:trivium:interop", "urn:nobody:knows"}
		asked := a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{a2a.SvcParamExtensions: uris})
		equal(textOf(messageOf(asked, p.full, send("extensions")).Parts), "urn:trivium:interop")
	}},
}
