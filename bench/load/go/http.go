package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

type httpWire struct {
	client      *http.Client
	url         string
	contentType string
	// The JSON-RPC method; none is HTTP+JSON.
	method string
	text   string
	check  check
}

func openHTTP(name string, port int, text string, check check) wire {
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	over := &httpWire{client, base + "/json-rpc", "application/json", "SendMessage", text, check}
	switch name {
	case "http-json":
		over.url, over.contentType, over.method = base+"/http-json/message:send", "application/a2a+json", ""
	case "sse":
		over.method = "SendStreamingMessage"
	}
	return over
}

type partJSON struct {
	Text string `json:"text"`
}

type sentJSON struct {
	Message struct {
		MessageID string     `json:"messageId"`
		Role      string     `json:"role"`
		Parts     []partJSON `json:"parts"`
	} `json:"message"`
}

type callJSON struct {
	JSONRPC string   `json:"jsonrpc"`
	ID      int64    `json:"id"`
	Method  string   `json:"method"`
	Params  sentJSON `json:"params"`
}

func (w *httpWire) body(n int64) ([]byte, error) {
	var sent sentJSON
	sent.Message.MessageID = fmt.Sprintf("m-%d", n)
	sent.Message.Role = "ROLE_USER"
	sent.Message.Parts = []partJSON{{w.text}}
	if w.method == "" {
		return json.Marshal(sent)
	}
	return json.Marshal(callJSON{"2.0", n, w.method, sent})
}

func (w *httpWire) call(n int64) error {
	body, err := w.body(n)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("content-type", w.contentType)
	request.Header.Set("a2a-version", "1.0")
	if w.check.chunks > 0 {
		request.Header.Set("accept", "text/event-stream")
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refusal, _ := io.ReadAll(response.Body)
		return fmt.Errorf("HTTP %d: %.200s", response.StatusCode, refusal)
	}
	if w.check.chunks > 0 {
		return w.readStream(response.Body, n)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	event, err := w.parse(answer, n)
	if err != nil {
		return err
	}
	return w.check.answer(event)
}

// readStream takes one line `data: …` for an event, which is how all sides write it.
func (w *httpWire) readStream(body io.Reader, n int64) error {
	var stream reader
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "event: error") {
			return fmt.Errorf("the stream failed after %d chunks", stream.next)
		}
		data, isData := strings.CutPrefix(line, "data:")
		if !isData {
			continue
		}
		event, err := w.parse([]byte(data), n)
		if err != nil {
			return err
		}
		if err := stream.take(event); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return stream.end(w.check.chunks)
}

type artifactJSON struct {
	Parts []partJSON `json:"parts"`
}

type statusJSON struct {
	State string `json:"state"`
}

type payloadJSON struct {
	Message *struct {
		Role  string     `json:"role"`
		Parts []partJSON `json:"parts"`
	} `json:"message"`
	Task *struct {
		ID        string         `json:"id"`
		Status    statusJSON     `json:"status"`
		Artifacts []artifactJSON `json:"artifacts"`
	} `json:"task"`
	ArtifactUpdate *struct {
		Artifact artifactJSON `json:"artifact"`
	} `json:"artifactUpdate"`
	StatusUpdate *struct {
		Status statusJSON `json:"status"`
	} `json:"statusUpdate"`
}

type envelopeJSON struct {
	ID     *int64          `json:"id"`
	Result json.RawMessage `json:"result"`
}

func (w *httpWire) parse(body []byte, n int64) (event, error) {
	payload := body
	if w.method != "" {
		var envelope envelopeJSON
		if err := json.Unmarshal(body, &envelope); err != nil {
			return event{}, err
		}
		if envelope.ID == nil || *envelope.ID != n || envelope.Result == nil {
			return event{}, fmt.Errorf("no result of call %d: %.200s", n, body)
		}
		payload = envelope.Result
	}
	var parsed payloadJSON
	if err := json.Unmarshal(payload, &parsed); err != nil {
		return event{}, err
	}
	return parsed.event(), nil
}

func (p payloadJSON) event() event {
	const completed = "TASK_STATE_COMPLETED"
	switch {
	case p.Message != nil:
		texts := []string{joinParts(p.Message.Parts)}
		return event{kind: "message", fromAgent: p.Message.Role == "ROLE_AGENT", texts: texts}
	case p.Task != nil:
		texts := make([]string, len(p.Task.Artifacts))
		for index, artifact := range p.Task.Artifacts {
			texts[index] = joinParts(artifact.Parts)
		}
		return event{kind: "task", completed: p.Task.Status.State == completed, texts: texts}
	case p.ArtifactUpdate != nil:
		return event{kind: "artifactUpdate", texts: []string{joinParts(p.ArtifactUpdate.Artifact.Parts)}}
	case p.StatusUpdate != nil:
		return event{kind: "statusUpdate", completed: p.StatusUpdate.Status.State == completed}
	}
	return event{}
}

func joinParts(parts []partJSON) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text)
	}
	return text.String()
}
