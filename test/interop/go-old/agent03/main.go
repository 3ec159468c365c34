// Version 0.3 of the official Go SDK as an agent on both bindings it has.
package main

import (
	"net"
	"net/http"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2agrpc"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/push"
	"google.golang.org/grpc"
	"trivium.example/interop/old/speak"
)

func main() {
	speak.Serve(func(web net.Listener, base string, guard speak.Guard) error {
		rpc := speak.Listen()
		card := cardOf(base, rpc.Addr().String())
		declare(guard, card)
		extended := *card
		extended.Skills = append(extended.Skills[:1:1], a2a.AgentSkill{
			ID: "inner", Name: "Inner", Description: "For callers who ask", Tags: []string{"test"},
		})
		handler := a2asrv.NewHandler(
			newScript(),
			a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)),
			a2asrv.WithExtendedAgentCard(&extended),
		)
		mux := http.NewServeMux()
		mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
		mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
		go func() { panic(http.Serve(web, guard.OverHTTP(mux, a2asrv.WellKnownAgentCardPath))) }()

		server := grpc.NewServer(overGRPC(guard)...)
		a2agrpc.NewHandler(handler).RegisterWith(server)
		go func() { panic(server.Serve(rpc)) }()
		return nil
	})
}

func cardOf(base, rpc string) *a2a.AgentCard {
	return &a2a.AgentCard{
		ProtocolVersion:    string(a2a.Version),
		Name:               "Go",
		Description:        "Plays the script that the first text names",
		Version:            "1.2.3",
		URL:                base + "/rpc",
		PreferredTransport: a2a.TransportProtocolJSONRPC,
		AdditionalInterfaces: []a2a.AgentInterface{
			{Transport: a2a.TransportProtocolJSONRPC, URL: base + "/rpc"},
			{Transport: a2a.TransportProtocolGRPC, URL: rpc},
		},
		Capabilities:       a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{
			{ID: "script", Name: "Script", Description: "Plays a script", Tags: []string{"test"}},
		},
		SupportsAuthenticatedExtendedCard: true,
	}
}
