// Version 0.2.5 of the Go SDK by trpc-go, which speaks 0.2, as an agent.
package main

import (
	"context"
	"net"
	"net/http"

	"go.uber.org/zap"
	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/log"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"
)

func main() {
	log.Default = zap.NewNop().Sugar()
	speak.Serve(func(web net.Listener, base string, guard speak.Guard) error {
		manager, err := taskmanager.NewMemoryTaskManager(&script{})
		if err != nil {
			return err
		}
		agent, err := server.NewA2AServer(cardOf(base, guard), manager, server.WithAuthenticatedExtendedCardHandler(extended))
		if err != nil {
			return err
		}
		go func() { panic(http.Serve(web, guard.OverHTTP(agent.Handler(), protocol.AgentCardPath))) }()
		return nil
	})
}

func extended(_ context.Context, card server.AgentCard) (server.AgentCard, error) {
	inner := server.AgentSkill{ID: "inner", Name: "Inner", Tags: []string{"test"}}
	card.Skills = append(append([]server.AgentSkill{}, card.Skills...), inner)
	return card, nil
}

func cardOf(base string, guard speak.Guard) server.AgentCard {
	yes, version := true, "0.2.5"
	card := server.AgentCard{
		Name:                              "Go",
		Description:                       "Plays the script that the first text names",
		URL:                               base + "/",
		Version:                           "1.2.3",
		ProtocolVersion:                   &version,
		Capabilities:                      server.AgentCapabilities{Streaming: &yes, PushNotifications: &yes},
		SupportsAuthenticatedExtendedCard: &yes,
		DefaultInputModes:                 []string{"text/plain"},
		DefaultOutputModes:                []string{"text/plain"},
		Skills:                            []server.AgentSkill{{ID: "script", Name: "Script", Tags: []string{"test"}}},
	}
	if !guard.IsOpen() {
		bearer, name, header := "Bearer", "X-Api-Key", server.SecuritySchemeInHeader
		card.SecuritySchemes = map[string]server.SecurityScheme{
			"token": {Type: server.SecuritySchemeTypeHTTP, Scheme: &bearer},
			"key":   {Type: server.SecuritySchemeTypeAPIKey, In: &header, Name: &name},
		}
		card.Security = []map[string][]string{{"token": {}}, {"key": {}}}
	}
	return card
}
