package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// The queue of work: a session of an environment that waits for results of the client's tools is an item of it. Who
// has it is written into the session's metadata, so that every process and the next one know it.

// The bounds of work.
const (
	leaseTime = 5 * time.Minute // after the last beat, until another worker may have the item
	beatTime  = leaseTime / 4   // between two beats that are written: earlier ones find the lease as it is
	maxPolled = 100             // sessions that one poll looks at
)

// leaseMember is the member of a session's metadata that says who has it.
const leaseMember = engine.WorkMember

// noBeat is what a worker expects before its first heartbeat.
const noBeat = "NO_HEARTBEAT"

// workPrefix makes an item's id from its session's.
const workPrefix = "work_"

// The states of an item.
const (
	workQueued   = "queued"
	workStarting = "starting"
	workActive   = "active"
	workStopped  = "stopped"
)

// lease is who has an item: the number changes with each claim and beat, and fences. The time says only when a worker
// that is silent has lost the item.
type lease struct {
	State  string
	Number int64
	Beaten bool // since the claim
	At     time.Time
}

// leaseOf reads a session's lease; what cannot be read is free.
func leaseOf(s *parley.Session) (l lease) {
	l.State = workQueued
	var metadata map[string]json.RawMessage
	var text string
	if json.Unmarshal(s.Metadata, &metadata) != nil || json.Unmarshal(metadata[leaseMember], &text) != nil {
		return l
	}
	var milliseconds int64
	read := lease{}
	if _, err := fmt.Sscanf(text, "%s %d %t %d", &read.State, &read.Number, &read.Beaten, &milliseconds); err != nil {
		return l
	}
	read.At = time.UnixMilli(milliseconds)
	return read
}

// last is the heartbeat that the worker must name with its next one.
func (l *lease) last() string {
	if !l.Beaten {
		return noBeat
	}
	return strconv.FormatInt(l.Number, 10)
}

// held reports whether a worker has the item. A time far ahead, which anybody who may write metadata can set, holds
// nothing.
func (l *lease) held(now time.Time) bool {
	return (l.State == workStarting || l.State == workActive) && now.Sub(l.At).Abs() < leaseTime
}

// take writes a lease over the one that was read. CodeChanged if another worker was faster.
func (a *api) take(ctx context.Context, who parley.Principal, s *parley.Session, next lease) error {
	metadata := map[string]json.RawMessage{}
	if len(s.Metadata) > 0 {
		if err := json.Unmarshal(s.Metadata, &metadata); err != nil {
			return err
		}
	}
	before := leaseOf(s)
	next.Number, next.At = before.Number+1, time.Now()
	metadata[leaseMember] = parley.AppendJSONString(nil,
		fmt.Sprintf("%s %d %t %d", next.State, next.Number, next.Beaten, next.At.UnixMilli()))
	encoded, err := parley.EncodeJSON(metadata)
	if err != nil {
		return err
	}
	known := string(s.Metadata)
	patch := engine.SessionPatch{If: func(current *parley.Session) error {
		if string(current.Metadata) != known {
			return parley.Errorf(parley.CodeChanged, "another worker has the session")
		}
		return nil
	}}
	patch.Metadata.Set, patch.Metadata.Value = true, encoded
	updated, err := a.engine.UpdateSession(ctx, who, s.ID, patch)
	if err == nil {
		*s = updated
	}
	return err
}

// workItem is an item in the protocol's shape.
type workItem struct {
	ID           string      `json:"id"`
	Type         string      `json:"type"`
	Environment  string      `json:"environment_id"`
	State        string      `json:"state"`
	Data         workData    `json:"data"`
	Metadata     struct{}    `json:"metadata"`
	CreatedAt    parley.Time `json:"created_at"`
	Secret       *string     `json:"secret"`
	Acknowledged *string     `json:"acknowledged_at"`
	Heartbeat    *string     `json:"latest_heartbeat_at"`
	Started      *string     `json:"started_at"`
	StopAsked    *string     `json:"stop_requested_at"`
	Stopped      *string     `json:"stopped_at"`
}

type workData struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

func newWork(environment string, s *parley.Session) workItem {
	return workItem{
		ID: workPrefix + s.ID.String(), Type: "work", Environment: environment, State: leaseOf(s).State,
		Data: workData{sessionPrefix + s.ID.String(), "session"}, CreatedAt: s.CreatedAt,
	}
}

// workRoutes are those of the queue.
func (a *api) workRoutes() []protocol.Route {
	const work = "/v1/environments/{environment}/work/"
	return []protocol.Route{
		{
			Method: http.MethodGet, Path: work + "poll", Name: "pollManagedWork", Verb: engine.PatchSessions,
			Serve: a.poll,
		},
		{
			Method: http.MethodPost, Path: work + "{work}/ack", Name: "ackManagedWork", Verb: engine.PatchSessions,
			Serve: a.ack,
		},
		{
			Method: http.MethodPost, Path: work + "{work}/heartbeat", Name: "beatManagedWork",
			Verb: engine.PatchSessions, Serve: a.beat,
		},
		{
			Method: http.MethodPost, Path: work + "{work}/stop", Name: "stopManagedWork", Verb: engine.PatchSessions,
			Body: managedBody, Serve: a.stop, Example: `{"force":true}`,
		},
	}
}

// poll claims an item that no worker has; null if there is none. Workers run the calls of their own principal's
// sessions alone, whoever shares sessions of the same tag with them, and also with an admin's key.
func (a *api) poll(x *protocol.Exchange) error {
	if err := mayWork(x); err != nil {
		return err
	}
	ctx := x.R.Context()
	environment := x.R.PathValue("environment")
	page, err := a.engine.Sessions(ctx, x.Principal, engine.SessionList{
		Paging:   engine.Paging{Limit: maxPolled, Order: engine.Ascending},
		Tags:     []string{environmentTag + strings.TrimPrefix(environment, environmentPrefix)},
		Statuses: []parley.SessionStatus{parley.SessionWaiting},
	})
	if err != nil {
		return err
	}
	for i := range page.Data {
		s := &page.Data[i]
		before := leaseOf(s)
		if s.OwnerID != x.Principal.ID || s.WaitReason != parley.WaitToolResult || before.held(time.Now()) {
			continue
		}
		switch err := a.take(ctx, x.Principal, s, lease{State: workStarting}); parley.ErrorCode(err) {
		case parley.CodeChanged, parley.CodeForbidden, parley.CodeNotFound: // another's, or just taken
			continue
		default:
			if err != nil {
				return err
			}
			return send(x, newWork(environment, s))
		}
	}
	return send[*workItem](x, nil)
}

// mayWork refuses whoever may change no session, also while there is nothing to change.
func mayWork(x *protocol.Exchange) error {
	if engine.ReachOf(x.Principal.Role, engine.PatchSessions) == engine.ReachNone {
		return parley.Errorf(parley.CodeForbidden, "your role may not claim work")
	}
	return nil
}

// item finds the session of a request's path.
func (a *api) item(x *protocol.Exchange) (parley.Session, error) {
	if err := mayWork(x); err != nil {
		return parley.Session{}, err
	}
	id, _ := parley.ParseID(strings.TrimPrefix(x.R.PathValue("work"), workPrefix)) // zero is nobody's
	s, err := a.engine.Session(x.R.Context(), x.Principal, id)
	tag := environmentTag + strings.TrimPrefix(x.R.PathValue("environment"), environmentPrefix)
	if err == nil && (s.OwnerID != x.Principal.ID || !slices.Contains(s.Tags, tag)) {
		err = parley.Errorf(parley.CodeNotFound, "no such work")
	}
	return s, err
}

// ack notes that the worker has the item.
func (a *api) ack(x *protocol.Exchange) error {
	s, err := a.item(x)
	if err != nil {
		return err
	}
	l := leaseOf(&s)
	if l.State != workStarting {
		return parley.Errorf(parley.CodeConflict, "the work is %s", l.State)
	}
	if err := a.take(x.R.Context(), x.Principal, &s, lease{State: workActive}); err != nil {
		return err
	}
	return send(x, newWork(x.R.PathValue("environment"), &s))
}

// beat keeps the item for the worker that names its last heartbeat.
func (a *api) beat(x *protocol.Exchange) error {
	s, err := a.item(x)
	if err != nil {
		return err
	}
	l := leaseOf(&s)
	expected := x.R.URL.Query().Get("expected_last_heartbeat")
	held := l.State == workStarting || l.State == workActive
	if held && expected == l.last() && (!l.Beaten || time.Since(l.At) > beatTime) {
		err = a.take(x.R.Context(), x.Principal, &s, lease{State: workActive, Beaten: true})
		if err != nil && parley.ErrorCode(err) != parley.CodeChanged {
			return err
		}
		l = leaseOf(&s)
	} else if expected != l.last() && expected != "" {
		err = parley.Errorf(parley.CodeChanged, "another heartbeat came in between")
	}
	state := []byte(`"type":"work_heartbeat","last_heartbeat":`)
	state = parley.AppendJSONString(state, l.last())
	state = parley.AppendJSONString(append(state, `,"state":`...), l.State)
	state = strconv.AppendBool(append(state, `,"lease_extended":`...), held && err == nil)
	state = strconv.AppendInt(append(state, `,"ttl_seconds":`...), int64(leaseTime/time.Second), 10)
	header := x.W.Header()
	header.Set("Content-Type", "application/json")
	if err == nil {
		_, _ = x.W.Write(append(append([]byte{'{'}, state...), '}')) // the worker may be gone
		return nil
	}
	x.W.WriteHeader(http.StatusPreconditionFailed)
	body := []byte(
		`{"type":"error","error":{"type":"invalid_request_error","message":"The work is another worker's.",` +
			`"details":{"error_code":"heartbeat_precondition_failed","current_state":{`,
	)
	_, _ = x.W.Write(append(append(body, state...), "}}}}"...)) // as above
	return nil
}

// stop gives the item back. Its session is in the queue again as soon as it waits for results.
func (a *api) stop(x *protocol.Exchange) error {
	s, err := a.item(x)
	if err != nil {
		return err
	}
	if l := leaseOf(&s); l.State != workStarting && l.State != workActive {
		return parley.Errorf(parley.CodeConflict, "the work is %s", l.State)
	}
	if err := a.take(x.R.Context(), x.Principal, &s, lease{State: workStopped}); err != nil {
		return err
	}
	return send(x, newWork(x.R.PathValue("environment"), &s))
}
