package speak

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
)

// A Call is what a webhook was sent.
type Call struct {
	Header http.Header
	Body   map[string]any
}

// A Receiver is a webhook that keeps what it is sent.
type Receiver struct {
	URL    string
	server *http.Server
	ended  chan struct{}
	mutex  sync.Mutex
	calls  []Call
}

// NewReceiver starts a webhook, which waits for a body that is the last.
func NewReceiver(isLast func(map[string]any) bool) *Receiver {
	listener := Listen()
	r := &Receiver{URL: "http://" + listener.Addr().String() + "/hook", ended: make(chan struct{})}
	var once sync.Once
	r.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mutex.Lock()
		r.calls = append(r.calls, Call{request.Header, body})
		r.mutex.Unlock()
		w.WriteHeader(http.StatusNoContent)
		if isLast(body) {
			once.Do(func() { close(r.ended) })
		}
	})}
	go func(l net.Listener) { _ = r.server.Serve(l) }(listener)
	return r
}

// Wait gives everything that came up to the last body.
func (r *Receiver) Wait(ctx context.Context) []Call {
	select {
	case <-r.ended:
	case <-ctx.Done():
		panic("the webhook was not told of the end")
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]Call{}, r.calls...)
}

// Close stops the webhook.
func (r *Receiver) Close() {
	_ = r.server.Close()
}

// StateOf is the state in the body of a call, in the words of the older versions.
func StateOf(body map[string]any) string {
	status, _ := body["status"].(map[string]any)
	state, _ := status["state"].(string)
	return state
}
