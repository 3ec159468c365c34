// The official Go SDK as an agent on every binding it has: prints one line of JSON that says where its card is, and ends
// with its standard input. With -token and -key it demands one of them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"
)

func main() {
	// What goes wrong is said to the client, who asks for it.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	var guarded guard
	flag.StringVar(&guarded.token, "token", "", "the bearer token that is demanded")
	flag.StringVar(&guarded.key, "key", "", "the API key that will do as well")
	flag.Parse()
	web, rpc := listen(), listen()
	base := "http://" + web.Addr().String()
	card := cardOf(base, rpc.Addr().String())
	guarded.declare(card)
	handler := a2asrv.NewHandler(
		newScript(),
		a2asrv.WithCapabilityChecks(&card.Capabilities),
		a2asrv.WithExtendedAgentCard(card),
		a2asrv.WithTaskStore(taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: anybody})),
		a2asrv.WithPushNotifications(
			push.NewInMemoryStore(),
			sender(),
		),
	)

	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/rpc", guarded.overHTTP(a2asrv.NewJSONRPCHandler(handler)))
	mux.Handle("/rest/", guarded.overHTTP(http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler))))
	go func() { log.Fatal(http.Serve(web, mux)) }()

	server := grpc.NewServer(guarded.overGRPC()...)
	a2agrpc.NewHandler(handler).RegisterWith(server)
	go func() { log.Fatal(server.Serve(rpc)) }()

	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"card": base}); err != nil {
		log.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

// anybody gives every caller one name: the store lists nothing for callers without a name.
func anybody(context.Context) (string, error) {
	return "anybody", nil
}

func cardOf(base, rpc string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:        "Go",
		Description: "Plays the script that the first text names",
		Version:     "1.2.3",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+"/rpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(rpc, a2a.TransportProtocolGRPC),
		},
		Capabilities:       a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{
			{ID: "script", Name: "Script", Description: "Plays a script", Tags: []string{"test"}},
		},
	}
}
