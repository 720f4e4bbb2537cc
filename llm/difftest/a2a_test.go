package difftest_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// a2aClient resolves a card and returns the protocol's Go client of it.
func a2aClient(t *testing.T, address string) *a2aclient.Client {
	t.Helper()
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	client, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithJSONRPCTransport(http.DefaultClient))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// asks is a message with the model that answers it.
func asks(text, model string, to a2a.TaskInfo) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{
		Message:  a2a.NewMessageForTask(a2a.MessageRoleUser, to, a2a.NewTextPart(text)),
		Metadata: map[string]any{"model": model},
	}
}

// said is what a task's artifacts say.
func saidBy(task *a2a.Task) (text string) {
	for _, artifact := range task.Artifacts {
		for _, part := range artifact.Parts {
			text += part.Text()
		}
	}
	return text
}

// The protocol's Go package, unmodified, talks to a server that it knows by its address alone.
func TestA2AClientOfParley(t *testing.T) {
	_, url := running(t)
	client := a2aClient(t, url+"/a2a/parley")
	task := func(request *a2a.SendMessageRequest) *a2a.Task {
		t.Helper()
		result, err := client.SendMessage(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		made, ok := result.(*a2a.Task)
		if !ok {
			t.Fatalf("a message is answered with %T", result)
		}
		return made
	}
	one := task(asks("one", "sim/echo", a2a.TaskInfo{}))
	if one.Status.State != a2a.TaskStateCompleted || saidBy(one) != "one" || len(one.History) != 1 {
		t.Errorf("the task is %+v", one)
	}

	streamed, last := "", a2a.TaskState("")
	in := a2a.TaskInfo{ContextID: one.ContextID}
	for event, err := range client.SendStreamingMessage(t.Context(), asks("two", "sim/echo", in)) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case *a2a.Task:
			if e.ContextID != one.ContextID {
				t.Errorf("the context goes on as %s, want %s", e.ContextID, one.ContextID)
			}
		case *a2a.TaskArtifactUpdateEvent:
			streamed += e.Artifact.Parts[0].Text()
		case *a2a.TaskStatusUpdateEvent:
			last = e.Status.State
		}
	}
	if streamed != "two" || last != a2a.TaskStateCompleted {
		t.Errorf("the stream said %q and ended %s", streamed, last)
	}

	list, err := client.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: one.ContextID})
	if err != nil || len(list.Tasks) != 2 || list.TotalSize != 2 {
		t.Errorf("the tasks are %+v, %v", list, err)
	}
	got, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: one.ID})
	if err != nil || saidBy(got) != "one" {
		t.Errorf("the task is %+v, %v", got, err)
	}
	card, err := client.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
	if err != nil || card.Name == "" || len(card.Skills) != 1 {
		t.Errorf("the card is %+v, %v", card, err)
	}

	long := asks("tell", "sim/lorem-4000-50", a2a.TaskInfo{})
	long.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	running := task(long)
	push, err := client.CreateTaskPushConfig(t.Context(), &a2a.CreateTaskPushConfigRequest{
		TaskID: running.ID, Config: a2a.PushConfig{ID: "p", URL: "https://example.com/"},
	})
	if err != nil || push.TaskID != running.ID || push.Config.ID != "p" {
		t.Errorf("the configuration is %+v, %v", push, err)
	}
	stopped, err := client.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: running.ID})
	if err != nil || stopped.Status.State != a2a.TaskStateCanceled {
		t.Errorf("the cancelled task is %+v, %v", stopped, err)
	}

	nobody := a2a.NewTaskID()
	_, unknown := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: nobody})
	_, over := client.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: one.ID})
	for want, err := range map[error]error{
		a2a.ErrTaskNotFound: unknown, a2a.ErrTaskNotCancelable: over,
		a2a.ErrUnsupportedOperation: ended(t.Context(), client, one.ID),
	} {
		if !errors.Is(err, want) {
			t.Errorf("an error is %v, want %v", err, want)
		}
	}
	if server := a2aClient(t, url); server == nil {
		t.Error("the server has no card")
	}
}

// ended subscribes to a task that is over.
func ended(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) error {
	for _, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
		return err
	}
	return nil
}
