// Package speak is what the programs of every older Go SDK share: running cases, checking, a webhook, and the two ends of
// a program's life.
package speak

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"reflect"
	"runtime/debug"
	"time"
)

const caseTimeout = 10 * time.Second

// Nobody is the id of a task that is none.
const Nobody = "00000000-0000-7000-8000-000000000000"

// Options say where the agents are and over which binding they are called.
type Options struct {
	URL     string
	Plain   string
	Guarded string
	Binding string
}

// A Case fails by a panic.
type Case[P any] struct {
	Name string
	Run  func(context.Context, P)
}

type outcome struct {
	Case   string `json:"case"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Run runs every case against the agents of the command line and prints one line of JSON for each.
func Run[P any](connect func(context.Context, Options) (P, error), cases []Case[P]) {
	var options Options
	flag.StringVar(&options.URL, "url", "", "where the full agent is")
	flag.StringVar(&options.Plain, "plain", "", "where the plain agent is")
	flag.StringVar(&options.Guarded, "guarded", "", "where the agent is that demands credentials")
	secretFlags()
	flag.StringVar(&options.Binding, "binding", "", "JSONRPC, HTTP+JSON or GRPC")
	flag.Parse()
	lines := json.NewEncoder(quiet())
	peer, err := connect(context.Background(), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, each := range cases {
		if err := lines.Encode(outcomeOf(each, peer)); err != nil {
			os.Exit(1)
		}
	}
}

func outcomeOf[P any](each Case[P], peer P) outcome {
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
		each.Run(ctx, peer)
	}()
	select {
	case detail := <-failure:
		return outcome{each.Name, detail == "", detail}
	case <-time.After(2 * caseTimeout):
		return outcome{each.Name, false, fmt.Sprintf("no end after %v", 2*caseTimeout)}
	}
}

// quiet gives the standard output, and leaves to the SDKs, some of which log there, one that nobody reads: cases provoke
// errors, which they log.
func quiet() io.Writer {
	out := os.Stdout
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout = null
	}
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	return out
}

// Must gives the value of a call that has to succeed.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Check fails the case unless something holds.
func Check(holds bool, what string, about ...any) {
	if !holds {
		panic(fmt.Sprintf(what, about...))
	}
}

// Equal fails the case unless both are the same.
func Equal[T any](seen, wanted T) {
	Check(reflect.DeepEqual(seen, wanted), "%+v is not %+v", seen, wanted)
}
