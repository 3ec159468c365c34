// The official Go SDK as the callers of a fleet: sends and streams to each target, one call behind another, until its input
// ends, and prints one line of JSON for each call. A target is an agent's URL and the binding to call it over.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

type target struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Binding string `json:"binding"`
}

type line struct {
	Name  string `json:"name"`
	Call  string `json:"call"`
	ID    string `json:"id"`
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

type call struct {
	name string
	run  func(context.Context, *a2aclient.Client, *a2a.SendMessageRequest) (string, error)
}

var calls = []call{{"send", sendOnce}, {"stream", streamOnce}}

func sendOnce(ctx context.Context, client *a2aclient.Client, request *a2a.SendMessageRequest) (string, error) {
	answer, err := client.SendMessage(ctx, request)
	if err != nil {
		return "", err
	}
	// A reply that takes long is the message of a task.
	if task, ok := answer.(*a2a.Task); ok && task.Status.Message != nil {
		return textOf(task.Status.Message.Parts), nil
	}
	message, ok := answer.(*a2a.Message)
	if !ok {
		return "", fmt.Errorf("%+v is no message", answer)
	}
	return textOf(message.Parts), nil
}

func streamOnce(ctx context.Context, client *a2aclient.Client, request *a2a.SendMessageRequest) (string, error) {
	var text strings.Builder
	for event, err := range client.SendStreamingMessage(ctx, request) {
		if err != nil {
			return "", err
		}
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			text.WriteString(textOf(update.Artifact.Parts))
		}
	}
	return text.String(), nil
}

func textOf(parts []*a2a.Part) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text())
	}
	return text.String()
}

func connect(ctx context.Context, to target) (*a2aclient.Client, error) {
	card, err := agentcard.DefaultResolver.Resolve(ctx, to.URL)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(to.URL)
	if err != nil {
		return nil, err
	}
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(each *a2a.AgentInterface) bool {
		return string(each.ProtocolBinding) != to.Binding
	})
	for _, each := range card.SupportedInterfaces {
		if to.Binding == "GRPC" {
			each.URL = base.Host
		} else if at, err := url.Parse(each.URL); err == nil {
			each.URL = to.URL + at.Path
		}
	}
	// The environment names the certificates that are trusted.
	secure := credentials.NewTLS(nil)
	return a2aclient.NewFromCard(ctx, card, a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(secure)))
}

func main() {
	// What fails is reported, and the SDK also logs it.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	log.SetOutput(os.Stderr)
	var targets []target
	if err := json.Unmarshal([]byte(os.Args[1]), &targets); err != nil {
		log.Fatal(err)
	}
	var isOver atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		isOver.Store(true)
	}()
	lines := make(chan line)
	var running sync.WaitGroup
	for _, to := range targets {
		client, err := connect(context.Background(), to)
		if err != nil {
			log.Fatal(to.Name, ": ", err)
		}
		for index, each := range calls {
			running.Go(func() {
				for !isOver.Load() {
					message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(os.Args[2+index]))
					text, err := each.run(context.Background(), client, &a2a.SendMessageRequest{Message: message})
					report := line{Name: to.Name, Call: each.name, ID: message.ID, Text: text}
					if err != nil {
						report.Error = err.Error()
					}
					lines <- report
				}
			})
		}
	}
	go func() {
		running.Wait()
		close(lines)
	}()
	output := json.NewEncoder(os.Stdout)
	for each := range lines {
		if err := output.Encode(each); err != nil {
			log.Fatal(err)
		}
	}
}
