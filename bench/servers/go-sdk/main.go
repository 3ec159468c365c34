// The official Go SDK as a side of the benchmarks: its handlers as its README mounts them, JSON-RPC and HTTP+JSON on one
// port and gRPC on another, over its store in memory.
//
// The first line of the standard output says the two ports, as JSON. After that each line of the standard input is a
// question of bench/control.ts, answered with a number on a line. The program ends with its standard input.
package main

import (
	"bufio"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	web, rpc := listen(), listen()
	card := cardOf(web.Addr().String(), rpc.Addr().String())
	handler := a2asrv.NewHandler(executor{}, a2asrv.WithCapabilityChecks(&card.Capabilities))

	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/json-rpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/http-json/", http.StripPrefix("/http-json", a2asrv.NewRESTHandler(handler)))
	go func() { log.Fatal(http.Serve(web, mux)) }()

	server := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(server)
	go func() { log.Fatal(server.Serve(rpc)) }()

	fmt.Printf(`{"http":%d,"grpc":%d}`+"\n", portOf(web), portOf(rpc))
	for questions := bufio.NewScanner(os.Stdin); questions.Scan(); {
		answer, err := answerTo(questions.Text())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer)
	}
}

func answerTo(question string) (int64, error) {
	switch question {
	case "cpu":
		return cpuMicros()
	case "rss":
		debug.FreeOSMemory()
		return residentBytes()
	case "residentBytes":
		return residentBytes()
	}
	return 0, fmt.Errorf("no such question: %q", question)
}

// cpuMicros is the CPU time of the process so far, user and system, all threads.
func cpuMicros() (int64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return (usage.Utime.Nano() + usage.Stime.Nano()) / 1000, nil
}

func residentBytes() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Fscan(strings.NewReader(string(text)), &size, &resident); err != nil {
		return 0, err
	}
	return resident * int64(os.Getpagesize()), nil
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func portOf(listener net.Listener) int {
	return listener.Addr().(*net.TCPAddr).Port
}

func cardOf(web, rpc string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:        "Bench",
		Description: "Answers the scripts of the benchmark",
		Version:     "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface("http://"+web+"/json-rpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface("http://"+web+"/http-json", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(rpc, a2a.TransportProtocolGRPC),
		},
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "bench", Name: "Bench", Description: "Answers the scripts"}},
	}
}
