package a2a

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
)

// pushParams are the parameters of the methods about push notifications: a configuration, which a2a-go 2.0.0 puts into
// a member of its own, and the task that it belongs to.
type pushParams struct {
	TaskID string      `json:"taskId"`
	Config *pushConfig `json:"config"`

	URL   string `json:"url"`
	Token string `json:"token"`
	Auth  *auth  `json:"authentication"`
}

// pushConfig is a configuration of push notifications.
type pushConfig struct {
	ID     string `json:"id"`
	TaskID string `json:"taskId,omitempty"`
	URL    string `json:"url"`
	Token  string `json:"token,omitempty"`
	Auth   *auth  `json:"authentication,omitempty"`
}

type auth struct {
	Scheme      string `json:"scheme"`
	Credentials string `json:"credentials,omitempty"`
}

// nested is a configuration as a2a-go 2.0.0 has it.
type nested struct {
	TaskID string      `json:"taskId"`
	Config *pushConfig `json:"config"`
}

// pushed returns a webhook as the configuration that it was made from. Credentials stay on the server.
func pushed(w *parley.Webhook) *pushConfig {
	made := &pushConfig{ID: w.Push.ID, TaskID: w.TurnID.String(), URL: w.URL}
	if w.Push.Scheme != "" {
		made.Auth = &auth{Scheme: w.Push.Scheme}
	}
	return made
}

// push makes a push notification for a task.
func (a *api) push(ctx context.Context, r *request, f *found, given *pushConfig) (*pushConfig, error) {
	id := parley.NewID()
	input := engine.PushInput{
		TurnID: f.turn.ID,
		URL:    given.URL,
		Since:  max(f.session.UpdatedAt, f.turn.CreatedAt),
		Push:   parley.WebhookPush{ID: given.ID, Token: given.Token},
		Events: []string{
			"session.started",
			"session.waiting",
			"session.completed",
			"session.failed",
			"session.cancelled",
		},
	}
	if given.ID == "" {
		input.Push.ID = id.String()
	}
	if given.Auth != nil {
		input.Push.Scheme, input.Push.Credentials = given.Auth.Scheme, given.Auth.Credentials
	}
	made, err := a.engine.CreatePush(ctx, r.x.Principal, input)
	if err != nil {
		return nil, err
	}
	return pushed(&made), nil
}

// createPush makes a push notification for a task that is not over.
func (a *api) createPush(ctx context.Context, r *request) (any, error) {
	f, err := a.find(ctx, r, r.TaskID)
	if err != nil {
		return nil, err
	}
	if f.turn, err = a.engine.Turn(ctx, r.x.Principal, f.turn.ID); err != nil { // after its session's time
		return nil, err
	}
	if f.turn.Status.Finished() {
		return nil, &fault{codeUnsupported, "The task is over: nothing more happens to it."}
	}
	if r.Config != nil {
		made, err := a.push(ctx, r, f, r.Config)
		return nested{f.turn.ID.String(), made}, err
	}
	return a.push(ctx, r, f, &pushConfig{ID: r.Name, URL: r.URL, Token: r.Token, Auth: r.Auth})
}

// pushes reads the push notifications of a request's task.
func (a *api) pushes(ctx context.Context, r *request) ([]parley.Webhook, error) {
	f, err := a.find(ctx, r, r.TaskID)
	if err != nil {
		return nil, err
	}
	return a.engine.Pushes(ctx, r.x.Principal, f.turn.ID)
}

// one finds the push notification that a request names.
func (a *api) one(ctx context.Context, r *request) (*parley.Webhook, error) {
	all, err := a.pushes(ctx, r)
	if err != nil {
		return nil, err
	}
	var other *parley.Webhook // an admin sees those of others, too
	for i := range all {
		switch {
		case all[i].Push.ID != r.Name:
		case all[i].Owner.ID == r.x.Principal.ID:
			return &all[i], nil
		case other == nil:
			other = &all[i]
		}
	}
	if other != nil {
		return other, nil
	}
	return nil, &fault{codeTaskNotFound, "The task has no push notification configuration with this id."}
}

func (a *api) getPush(ctx context.Context, r *request) (any, error) {
	found, err := a.one(ctx, r)
	if err != nil {
		return nil, err
	}
	return pushed(found), nil
}

func (a *api) listPushes(ctx context.Context, r *request) (any, error) {
	all, err := a.pushes(ctx, r)
	if err != nil {
		return nil, err
	}
	list := struct {
		Configs []*pushConfig `json:"configs"`
		Next    string        `json:"nextPageToken"`
	}{Configs: []*pushConfig{}}
	for i := range all {
		list.Configs = append(list.Configs, pushed(&all[i]))
	}
	return list, nil
}

func (a *api) deletePush(ctx context.Context, r *request) (any, error) {
	found, err := a.one(ctx, r)
	if err == nil {
		err = a.engine.DeleteWebhook(ctx, r.x.Principal, found.ID)
	}
	if err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// Notification is what a push notification of a turn says about an event: its new status, if that changed.
func Notification(turn parley.ID, e *parley.Event) []byte {
	var about struct {
		TurnID parley.ID         `json:"turn_id"`
		Reason parley.WaitReason `json:"reason"`
		Turn   *parley.Turn      `json:"turn"`
		*event.Refused
	}
	if json.Unmarshal(e.Data, &about) != nil || about.TurnID != turn {
		return nil
	}
	f := &found{turn: parley.Turn{ID: turn, Status: parley.TurnRunning}}
	f.session.ID = e.SessionID
	switch {
	case about.Turn != nil && e.Type.EndsTurn():
		f.turn = *about.Turn
	case e.Type == parley.EventSessionWaiting && stopsFor(about.Reason):
		f.turn.Status, f.turn.WaitReason = parley.TurnWaiting, about.Reason
	case e.Type != parley.EventSessionStarted:
		return nil
	}
	s := f.outline().Status
	s.At = e.CreatedAt
	body, err := parley.EncodeJSON(struct {
		Update statusUpdate `json:"statusUpdate"`
	}{statusUpdate{turn, e.SessionID, s}})
	if err != nil { // what the record holds always encodes
		return nil
	}
	return body
}
