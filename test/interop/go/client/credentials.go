package main

import (
	"context"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

var credentialCases = []testCase{
	{"credentials-token", func(ctx context.Context, p *peer) {
		works(p.withCredentials(ctx, a2aclient.SessionCredentials{"token": p.secrets["token"]}))
	}},

	{"credentials-key", func(ctx context.Context, p *peer) {
		works(p.withCredentials(ctx, a2aclient.SessionCredentials{"key": p.secrets["key"]}))
	}},

	{"error-credentials-none", func(ctx context.Context, p *peer) {
		isRefused(p.withCredentials(ctx, a2aclient.SessionCredentials{}))
	}},

	{"error-credentials-expired", func(ctx context.Context, p *peer) {
		isRefused(p.withCredentials(ctx, a2aclient.SessionCredentials{"token": p.secrets["expired"]}))
	}},
}

// withCredentials gives a client of the guarded agent with the SDK's store of credentials by scheme, and the context of
// a session that has them.
func (p *peer) withCredentials(ctx context.Context, credentials a2aclient.SessionCredentials) (context.Context, *a2aclient.Client) {
	store := a2aclient.NewInMemoryCredentialsStore()
	for scheme, credential := range credentials {
		store.Set("session", scheme, credential)
	}
	interceptor := &a2aclient.AuthInterceptor{Service: store}
	client := must(p.connect(ctx, p.guardedCard, a2aclient.WithCallInterceptors(interceptor)))
	return a2aclient.AttachSessionID(ctx, "session"), client
}

func works(ctx context.Context, client *a2aclient.Client) {
	equal(textOf(messageOf(ctx, client, send("pong")).Parts), "pong pong")
	events := must(collect(client.SendStreamingMessage(ctx, send("work"))))
	check(len(events) > 0, "the stream was empty")
	id := events[0].TaskInfo().TaskID
	equal(getTask(ctx, client, id).ID, id)
}

func isRefused(ctx context.Context, client *a2aclient.Client) {
	_, err := client.SendMessage(ctx, send("pong"))
	refused(err)
	_, err = collect(client.SendStreamingMessage(ctx, send("pong")))
	refused(err)
	_, err = client.GetTask(ctx, &a2a.GetTaskRequest{ID: nobody})
	refused(err)
}

// guardedResolver reads the scopes of a requirement, which the SDK wants as a bare list: `{"list": []}` fails its parser.
var guardedResolver = &agentcard.Resolver{CardParser: func(body []byte) (*a2a.AgentCard, error) {
	var card map[string]any
	if err := json.Unmarshal(body, &card); err != nil {
		return nil, err
	}
	requirements, _ := card["securityRequirements"].([]any)
	for _, each := range requirements {
		schemes := each.(map[string]any)["schemes"].(map[string]any)
		for name, scopes := range schemes {
			schemes[name] = scopes.(map[string]any)["list"]
		}
	}
	flat, err := json.Marshal(card)
	if err != nil {
		return nil, err
	}
	return agentcard.DefaultCardParser(flat)
}}
