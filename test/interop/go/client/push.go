package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

var pushCases = []testCase{
	{"push-config", func(ctx context.Context, p *peer) {
		task := waiting(ctx, p.full)
		secret := &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "very-secret"}
		wanted := &a2a.PushConfig{TaskID: task.ID, ID: "mine", URL: "http://127.0.0.1:9/hook", Token: "t0ken", Auth: secret}
		made := must(p.full.CreateTaskPushConfig(ctx, wanted))
		equal([]string{made.ID, string(made.TaskID), made.URL}, []string{"mine", string(task.ID), wanted.URL})
		check(made.Auth == nil || made.Auth.Credentials != "very-secret", "the secret came back")
		named := must(p.full.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: task.ID, URL: "http://127.0.0.1:9/other"}))
		check(named.ID != "", "it got no id")
		got := must(p.full.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "mine"}))
		equal(got.URL, wanted.URL)
		ids := func() []string {
			var ids []string
			for _, config := range must(p.full.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})) {
				ids = append(ids, config.ID)
			}
			return slices.Sorted(slices.Values(ids))
		}
		equal(ids(), slices.Sorted(slices.Values([]string{"mine", named.ID})))
		must(0, p.full.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "mine"}))
		equal(ids(), []string{named.ID})
		cancel(ctx, p.full, task.ID)
	}},

	{"push-delivery", func(ctx context.Context, p *peer) {
		hook := newHook()
		defer hook.server.Close()
		task := waiting(ctx, p.full)
		secret := &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "cr3d"}
		must(p.full.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: task.ID, URL: hook.server.URL, Token: "t0ken", Auth: secret}))
		taskOf(ctx, p.full, send("go", toTask(task.ID)))
		calls := hook.untilEnded(ctx)
		for _, each := range calls {
			equal(each.header.Get("X-A2A-Notification-Token"), "t0ken")
			equal(each.header.Get("Authorization"), "Bearer cr3d")
		}
		equal(artifactText(eventsOf(calls)), "heard go")
		equal(stateOf(lastStatus(eventsOf(calls)).Status), "COMPLETED")
	}},

	{"push-inline", func(ctx context.Context, p *peer) {
		hook := newHook()
		defer hook.server.Close()
		task := taskOf(ctx, p.full, send("work", func(request *a2a.SendMessageRequest) {
			request.Config.PushConfig = &a2a.PushConfig{URL: hook.server.URL, Token: "inline"}
		}))
		equal(stateOf(task.Status), "COMPLETED")
		calls := hook.untilEnded(ctx)
		for _, each := range calls {
			equal(each.header.Get("X-A2A-Notification-Token"), "inline")
		}
		equal(lastStatus(eventsOf(calls)).TaskID, task.ID)
	}},
}

type hookCall struct {
	header http.Header
	event  a2a.Event
}

// A hook is a webhook that keeps what it is sent, until the status update COMPLETED.
type hook struct {
	server *httptest.Server
	ended  chan struct{}
	lock   sync.Mutex
	calls  []hookCall
}

func newHook() *hook {
	h := &hook{ended: make(chan struct{})}
	h.server = httptest.NewServer(http.HandlerFunc(h.receive))
	return h
}

func (h *hook) receive(answer http.ResponseWriter, request *http.Request) {
	var body a2a.StreamResponse
	if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.calls = append(h.calls, hookCall{request.Header, body.Event})
	answer.WriteHeader(http.StatusNoContent)
	if update, ok := body.Event.(*a2a.TaskStatusUpdateEvent); ok && update.Status.State == a2a.TaskStateCompleted {
		close(h.ended)
	}
}

func (h *hook) untilEnded(ctx context.Context) []hookCall {
	select {
	case <-h.ended:
	case <-ctx.Done():
		panic("not called to the end")
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.calls
}

func eventsOf(calls []hookCall) []a2a.Event {
	var events []a2a.Event
	for _, call := range calls {
		events = append(events, call.event)
	}
	return events
}
