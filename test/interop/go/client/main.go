// The official Go SDK as a client: runs every case against an agent and prints one line of JSON for each.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

const caseTimeout = 10 * time.Second

// A testCase fails by a panic.
type testCase struct {
	name string
	run  func(context.Context, *peer)
}

type outcome struct {
	Case   string `json:"case"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func main() {
	url := flag.String("url", "", "where the full agent is")
	plain := flag.String("plain", "", "where the plain agent is")
	binding := flag.String("binding", "", "JSONRPC, HTTP+JSON or GRPC")
	guarded := flag.String("guarded", "", "where the agent is that wants credentials")
	secrets := map[string]a2aclient.AuthCredential{}
	for _, name := range []string{"token", "expired", "key"} {
		flag.Func(name, "a credential", func(value string) error {
			secrets[name] = a2aclient.AuthCredential(value)
			return nil
		})
	}
	flag.Parse()
	// Cases provoke errors, which the SDK also logs.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	peer, err := newPeer(context.Background(), places{full: *url, plain: *plain, guarded: *guarded}, *binding)
	if err != nil {
		log.SetOutput(os.Stderr)
		log.Fatal(err)
	}
	peer.secrets = secrets
	lines := json.NewEncoder(os.Stdout)
	for _, each := range slices.Concat(messageCases, taskCases, streamCases, pushCases, credentialCases, errorCases) {
		if err := lines.Encode(outcomeOf(each, peer)); err != nil {
			log.Fatal(err)
		}
	}
}

func outcomeOf(each testCase, peer *peer) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
	defer cancel()
	failure := make(chan string, 1)
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				failure <- fmt.Sprintf("%v\n%s", reason, debug.Stack())
				return
			}
			failure <- ""
		}()
		each.run(ctx, peer)
	}()
	select {
	case detail := <-failure:
		return outcome{each.name, detail == "", detail}
	case <-time.After(2 * caseTimeout):
		return outcome{each.name, false, fmt.Sprintf("no end after %v", 2*caseTimeout)}
	}
}
