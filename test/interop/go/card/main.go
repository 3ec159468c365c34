// The official Go SDK reads the card of an agent that demands scopes: prints one line of JSON with the requirements of the
// card, of its first skill and of the extended card, or with the error.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

func main() {
	url := flag.String("url", "", "where the agent is")
	key := flag.String("key", "", "its API key")
	binding := flag.String("binding", "JSONRPC", "JSONRPC or HTTP+JSON")
	flag.Parse()
	read, err := requirements(*url, *key, a2a.TransportProtocol(*binding))
	if err != nil {
		read = map[string]any{"error": err.Error()}
	}
	_ = json.NewEncoder(os.Stdout).Encode(read)
}

func requirements(url, key string, binding a2a.TransportProtocol) (map[string]any, error) {
	ctx := context.Background()
	card, err := agentcard.DefaultResolver.Resolve(ctx, url)
	if err != nil {
		return nil, err
	}
	store := a2aclient.NewInMemoryCredentialsStore()
	store.Set("session", "key", a2aclient.AuthCredential(key))
	client, err := a2aclient.NewFromCard(
		ctx,
		card,
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
		a2aclient.WithCallInterceptors(&a2aclient.AuthInterceptor{Service: store}),
	)
	if err != nil {
		return nil, err
	}
	ctx = a2aclient.AttachSessionID(ctx, "session")
	extended, err := client.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"card":     plain(card.SecurityRequirements),
		"skill":    plain(card.Skills[0].SecurityRequirements),
		"extended": plain(extended.SecurityRequirements),
	}, nil
}

// plain gives each alternative as scopes by scheme.
func plain(options a2a.SecurityRequirementsOptions) []map[string][]string {
	all := []map[string][]string{}
	for _, each := range options {
		schemes := map[string][]string{}
		for name, scopes := range each {
			schemes[string(name)] = append([]string{}, scopes...)
		}
		all = append(all, schemes)
	}
	return all
}
