// Version 0.0.3 of the Go SDK by trpc-go, which speaks 0.1, as a client: runs every case against an agent and prints one line
// of JSON for each.
package main

import (
	"slices"

	"go.uber.org/zap"
	"trivium.example/interop/old/speak"
	"trpc.group/trpc-go/trpc-a2a-go/log"
)

type testCase = speak.Case[*peer]

func main() {
	log.Default = zap.NewNop().Sugar()
	speak.Run(newPeer, slices.Concat(taskCases, streamCases, pushCases, credentialCases, errorCases))
}
