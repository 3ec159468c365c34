// Load from Go clients: net/http with one kept-alive connection for each caller, and grpc-go with four connections for all
// of them.
//
//	load -wire json-rpc|http-json|grpc|sse|grpc-stream -port PORT -text TEXT
//
// Each line N on stdin sends N messages with this text from 16 callers; a caller sends its next message when it has the
// answer to its last. Every answer is checked against the corpus (bench/corpus.ts). The program answers each line with
// `done`, or with what was wrong, and exits when stdin ends.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

const callers = 16

// A wire sends message n and checks what comes back.
type wire interface {
	call(n int64) error
}

func main() {
	name := flag.String("wire", "", "json-rpc, http-json, grpc, sse or grpc-stream")
	port := flag.Int("port", 0, "the port of the server on this machine")
	text := flag.String("text", "", "a script of the corpus: message, task, or stream and a number of chunks")
	flag.Parse()
	over, err := openWire(*name, *port, *text)
	if err != nil {
		log.Fatal(err)
	}
	var next atomic.Int64
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		count, err := strconv.ParseInt(input.Text(), 10, 64)
		if err != nil {
			log.Fatal(err)
		}
		if err := run(over, &next, next.Load()+count); err != nil {
			fmt.Println(strconv.Quote(err.Error()))
		} else {
			fmt.Println("done")
		}
	}
}

func openWire(name string, port int, text string) (wire, error) {
	check, err := expect(text)
	if err != nil {
		return nil, err
	}
	switch name {
	case "json-rpc", "http-json", "sse":
		return openHTTP(name, port, text, check), nil
	case "grpc", "grpc-stream":
		return openGRPC(port, text, check)
	}
	return nil, fmt.Errorf("no such wire: %q", name)
}

// run makes calls until the number of the next one is end, and returns the first error of the first caller that had one.
func run(over wire, next *atomic.Int64, end int64) error {
	failures := make(chan error, callers)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= end {
					return
				}
				if err := over.call(n); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	running.Wait()
	close(failures)
	next.Store(end)
	return <-failures
}
