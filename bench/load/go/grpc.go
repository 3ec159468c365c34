package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
)

const grpcConnections = 4

const service = "/lf.a2a.v1.A2AService/"

type grpcWire struct {
	connections [grpcConnections]*grpc.ClientConn
	text        string
	check       check
}

func openGRPC(port int, text string, check check) (wire, error) {
	over := &grpcWire{text: text, check: check}
	for index := range over.connections {
		connection, err := grpc.NewClient(
			fmt.Sprintf("passthrough:///127.0.0.1:%d", port),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})),
		)
		if err != nil {
			return nil, err
		}
		over.connections[index] = connection
	}
	return over, nil
}

func (w *grpcWire) call(n int64) error {
	connection := w.connections[n%grpcConnections]
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.Background(), "a2a-version", "1.0"))
	defer cancel()
	if w.check.chunks > 0 {
		return w.stream(ctx, connection, n)
	}
	var answer []byte
	if err := connection.Invoke(ctx, service+"SendMessage", w.request(n), &answer); err != nil {
		return err
	}
	return w.check.answer(parseEvent(answer))
}

func (w *grpcWire) stream(ctx context.Context, connection *grpc.ClientConn, n int64) error {
	call, err := connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, service+"SendStreamingMessage")
	if err != nil {
		return err
	}
	if err := call.SendMsg(w.request(n)); err != nil {
		return err
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	var stream reader
	for {
		var message []byte
		err := call.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			return stream.end(w.check.chunks)
		}
		if err != nil {
			return err
		}
		if err := stream.take(parseEvent(message)); err != nil {
			return err
		}
	}
}

// bytesCodec leaves messages as they are. Without a name, the content type stays application/grpc.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "" }

func (bytesCodec) Marshal(message any) ([]byte, error) { return message.([]byte), nil }

func (bytesCodec) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = bytes.Clone(data)
	return nil
}

// The fields of a2a.proto that are written and read.
const (
	requestMessage = 2

	messageID    = 1
	messageRole  = 4
	messageParts = 5
	roleUser     = 1
	roleAgent    = 2

	partText = 1

	taskStatus    = 3
	taskArtifacts = 4

	statusState    = 1
	stateCompleted = 3

	artifactParts = 4

	updateStatus   = 3
	updateArtifact = 3
)

// The payloads of SendMessageResponse and StreamResponse, by number.
var payloads = map[protowire.Number]string{1: "task", 2: "message", 3: "statusUpdate", 4: "artifactUpdate"}

func (w *grpcWire) request(n int64) []byte {
	part := appendBytes(nil, partText, []byte(w.text))
	message := appendBytes(nil, messageID, fmt.Appendf(nil, "m-%d", n))
	message = protowire.AppendTag(message, messageRole, protowire.VarintType)
	message = protowire.AppendVarint(message, roleUser)
	message = appendBytes(message, messageParts, part)
	return appendBytes(nil, requestMessage, message)
}

func appendBytes(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func parseEvent(message []byte) event {
	for _, field := range fields(message) {
		kind, content := payloads[field.number], field.bytes
		switch kind {
		case "message":
			fromAgent := varint(content, messageRole) == roleAgent
			return event{kind: kind, fromAgent: fromAgent, texts: []string{joinTexts(content, messageParts)}}
		case "task":
			var texts []string
			for _, artifact := range each(content, taskArtifacts) {
				texts = append(texts, joinTexts(artifact, artifactParts))
			}
			return event{kind: kind, completed: isCompleted(content, taskStatus), texts: texts}
		case "statusUpdate":
			return event{kind: kind, completed: isCompleted(content, updateStatus)}
		case "artifactUpdate":
			var texts []string
			for _, artifact := range each(content, updateArtifact) {
				texts = append(texts, joinTexts(artifact, artifactParts))
			}
			return event{kind: kind, texts: texts}
		}
	}
	return event{}
}

func isCompleted(message []byte, number protowire.Number) bool {
	for _, status := range each(message, number) {
		return varint(status, statusState) == stateCompleted
	}
	return false
}

func joinTexts(message []byte, number protowire.Number) string {
	var text strings.Builder
	for _, part := range each(message, number) {
		for _, content := range each(part, partText) {
			text.Write(content)
		}
	}
	return text.String()
}

type field struct {
	number protowire.Number
	bytes  []byte
	varint uint64
}

// fields reads a message up to the first field that is damaged: what is missing then fails the check.
func fields(message []byte) []field {
	var found []field
	for len(message) > 0 {
		number, kind, tagLength := protowire.ConsumeTag(message)
		if tagLength < 0 {
			return found
		}
		read := field{number: number}
		length := 0
		switch kind {
		case protowire.BytesType:
			read.bytes, length = protowire.ConsumeBytes(message[tagLength:])
		case protowire.VarintType:
			read.varint, length = protowire.ConsumeVarint(message[tagLength:])
		default:
			length = protowire.ConsumeFieldValue(number, kind, message[tagLength:])
		}
		if length < 0 {
			return found
		}
		found = append(found, read)
		message = message[tagLength+length:]
	}
	return found
}

func each(message []byte, number protowire.Number) [][]byte {
	var found [][]byte
	for _, field := range fields(message) {
		if field.number == number {
			found = append(found, field.bytes)
		}
	}
	return found
}

func varint(message []byte, number protowire.Number) uint64 {
	for _, field := range fields(message) {
		if field.number == number {
			return field.varint
		}
	}
	return 0
}
