package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

var taskCases = []testCase{
	{"task", func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("work"))
		equal([]string{stateOf(task.Status), textOf(task.Status.Message.Parts)}, []string{"COMPLETED", "done"})
		check(task.Status.Timestamp != nil && !task.Status.Timestamp.IsZero(), "it has no time")
		equal(len(task.Artifacts), 2)
		report, extra := task.Artifacts[0], task.Artifacts[1]
		equal([]string{string(report.ID), report.Name, textOf(report.Parts)}, []string{"report", "Report", "one two"})
		data := map[string]any{"count": 3.0, "ratio": 0.5, "nested": map[string]any{"list": []any{1.0, nil, "x"}}}
		equal(extra.Parts[0].Data(), any(data))
		equal(extra.Parts[1].Raw(), []byte{0, 1, 254, 255})
		equal([]string{extra.Parts[1].Filename, extra.Parts[1].MediaType}, []string{"raw.bin", "application/octet-stream"})
	}},

	{"return-immediately", func(ctx context.Context, p *peer) {
		task := waiting(ctx, p.full)
		ended := taskOf(ctx, p.full, send("go", toTask(task.ID)))
		equal(stateOf(ended.Status), "COMPLETED")
		equal(textOf(ended.Artifacts[0].Parts), "heard go")
		equal(stateOf(getTask(ctx, p.full, task.ID).Status), "COMPLETED")
	}},

	{"get", func(ctx context.Context, p *peer) {
		id := taskOf(ctx, p.full, send("work")).ID
		whole := getTask(ctx, p.full, id)
		equal(textsOf(whole.History), []string{"work", "on it"})
		equal(len(whole.Artifacts), 2)
		for length, texts := range [][]string{nil, {"on it"}} {
			task := must(p.full.GetTask(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: &length}))
			equal(textsOf(task.History), texts)
		}
	}},

	{"list", func(ctx context.Context, p *peer) {
		contextID := a2a.NewContextID()
		var made []a2a.TaskID
		for _, word := range []string{"work", "refuse", "work"} {
			made = slices.Insert(made, 0, taskOf(ctx, p.full, send(word, inContext(contextID))).ID)
		}
		list := func(request a2a.ListTasksRequest) *a2a.ListTasksResponse {
			request.ContextID = contextID
			return must(p.full.ListTasks(ctx, &request))
		}
		first := list(a2a.ListTasksRequest{PageSize: 2})
		equal([]int{len(first.Tasks), first.TotalSize, first.PageSize}, []int{2, 3, 2})
		rest := list(a2a.ListTasksRequest{PageSize: 2, PageToken: first.NextPageToken})
		equal(rest.NextPageToken, "")
		equal(idsOf(slices.Concat(first.Tasks, rest.Tasks)), made)
		check(len(first.Tasks[0].Artifacts) == 0, "it has artifacts")
		equal(idsOf(list(a2a.ListTasksRequest{Status: a2a.TaskStateRejected}).Tasks), made[1:2])
		five := 5
		whole := list(a2a.ListTasksRequest{IncludeArtifacts: true, HistoryLength: &five})
		for index, count := range []int{2, 0, 2} {
			equal(len(whole.Tasks[index].Artifacts), count)
		}
		if p.binding == a2a.TransportProtocolHTTPJSON {
			return // There it names the parameter `lastUpdatedAfter`, as older drafts did, and nobody hears it.
		}
		later := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
		equal(len(list(a2a.ListTasksRequest{StatusTimestampAfter: &later}).Tasks), 0)
	}},

	{"list-owner", func(ctx context.Context, p *peer) {
		contextID := a2a.NewContextID()
		taskOf(as(ctx, "anna"), p.full, send("work", inContext(contextID)))
		for owner, count := range map[string]int{"anna": 1, "bert": 0} {
			seen := must(p.full.ListTasks(as(ctx, owner), &a2a.ListTasksRequest{ContextID: contextID}))
			equal(len(seen.Tasks), count)
		}
	}},

	{"cancel", func(ctx context.Context, p *peer) {
		id := waiting(ctx, p.full).ID
		equal(stateOf(cancel(ctx, p.full, id).Status), "CANCELED")
		equal(stateOf(getTask(ctx, p.full, id).Status), "CANCELED")
	}},

	{"input-required", func(ctx context.Context, p *peer) {
		question := taskOf(ctx, p.full, send("ask"))
		equal([]string{stateOf(question.Status), textOf(question.Status.Message.Parts)}, []string{"INPUT_REQUIRED", "which one?"})
		answer := taskOf(ctx, p.full, send("the red one", toTask(question.ID), inContext(question.ContextID)))
		equal(answer.TaskInfo(), question.TaskInfo())
		equal([]string{stateOf(answer.Status), textOf(answer.Artifacts[0].Parts)}, []string{"COMPLETED", "you said the red one"})
		equal(textsOf(answer.History), []string{"ask", "which one?", "the red one"})
	}},

	{"auth-required", func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("login"))
		equal([]string{stateOf(task.Status), textOf(task.Status.Message.Parts)}, []string{"AUTH_REQUIRED", "log in first"})
	}},

	{"authorize-message", func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("authorize"))
		equal(stateOf(task.Status), "AUTH_REQUIRED")
		pageOf(task.Status)
		ended := taskOf(ctx, p.full, send("done", toTask(task.ID)))
		equal([]string{stateOf(ended.Status), textOf(ended.Artifacts[0].Parts)}, []string{"COMPLETED", "authorized by a message"})
	}},

	{"authorize-page", func(ctx context.Context, p *peer) {
		var states []string
		var events []a2a.Event
		for event, err := range p.full.SendStreamingMessage(ctx, send("authorize")) {
			check(err == nil, "%v", err)
			events = append(events, event)
			update, ok := event.(*a2a.TaskStatusUpdateEvent)
			if !ok {
				continue
			}
			states = append(states, stateOf(update.Status))
			if stateOf(update.Status) == "AUTH_REQUIRED" {
				must(http.Get(pageOf(update.Status))).Body.Close()
			}
		}
		equal(states, []string{"AUTH_REQUIRED", "WORKING", "COMPLETED"})
		equal(artifactText(events), "authorized on the page")
	}},

	{"rejected", func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("refuse"))
		equal([]string{stateOf(task.Status), textOf(task.Status.Message.Parts)}, []string{"REJECTED", "not that"})
	}},

	{"failed", func(ctx context.Context, p *peer) {
		task := taskOf(ctx, p.full, send("crash"))
		equal(stateOf(task.Status), "FAILED")
		check(!strings.Contains(fmt.Sprintf("%+v %+v", task, task.Status.Message), "secret"), "it tells: %+v", task)
	}},
}

func cancel(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) *a2a.Task {
	return must(client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id}))
}

func textsOf(messages []*a2a.Message) []string {
	var texts []string
	for _, message := range messages {
		texts = append(texts, textOf(message.Parts))
	}
	return texts
}

func idsOf(tasks []*a2a.Task) []a2a.TaskID {
	var ids []a2a.TaskID
	for _, task := range tasks {
		ids = append(ids, task.ID)
	}
	return ids
}

// pageOf gives the page that the message of a status names to programs, and checks what is to be authorized there.
func pageOf(status a2a.TaskStatus) string {
	request := status.Message.Metadata["urn:trivium:extension:authorization:v1"].(map[string]any)
	url := request["url"].(string)
	check(strings.Contains(textOf(status.Message.Parts), url), "%q does not name %s", textOf(status.Message.Parts), url)
	equal([]any{request["userCode"], request["scopes"]}, []any{"WDJB", []any{"calendar"}})
	return url
}
