// Version 0.0.3 of the Go SDK by trpc-go, which speaks 0.1, as an agent.
package main

import (
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
		manager, err := taskmanager.NewMemoryTaskManager(newScript())
		if err != nil {
			return err
		}
		agent, err := server.NewA2AServer(cardOf(base, guard), manager)
		if err != nil {
			return err
		}
		go func() { panic(http.Serve(web, guard.OverHTTP(agent.Handler(), protocol.AgentCardPath))) }()
		return nil
	})
}

func cardOf(base string, guard speak.Guard) server.AgentCard {
	card := server.AgentCard{
		Name:         "Go",
		URL:          base + "/",
		Version:      "1.2.3",
		Capabilities: server.AgentCapabilities{Streaming: true, PushNotifications: true},
		Skills:       []server.AgentSkill{{ID: "script", Name: "Script", Tags: []string{"test"}}},
	}
	if !guard.IsOpen() {
		where := `{"in":"header","name":"X-Api-Key"}`
		card.Authentication = &protocol.AuthenticationInfo{Schemes: []string{"Bearer", "ApiKey"}, Credentials: &where}
	}
	return card
}
