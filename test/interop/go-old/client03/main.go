// Version 0.3 of the official Go SDK as a client: runs every case against an agent and prints one line of JSON for each.
package main

import (
	"slices"

	"trivium.example/interop/old/speak"
)

type testCase = speak.Case[*peer]

func main() {
	speak.Run(newPeer, slices.Concat(messageCases, taskCases, streamCases, pushCases, credentialCases, errorCases))
}
