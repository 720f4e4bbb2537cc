package transition

import (
	"encoding/json"
	"errors"
	"time"

	"example.org/parley"
)

// Errand is work that a transition leaves for transactions of its own: the outbox. It is
// done at least once, by any process, and may be done again after a crash.
type Errand struct {
	WorkspaceID parley.ID
	Work        Work
	Delay       time.Duration // until it is due, by the database's clock
}

// Work is what an errand is about: a closed sum. Its JSON is the errand's payload, beside
// what the row has columns for.
type Work interface {
	Kind() string      // of the row
	Target() parley.ID // of the row
	// do does a bounded piece of the work, and reports whether that was the rest.
	do(workspaceID parley.ID, by Doer) (done bool, err error)
}

// ChildHome brings the result of a call home from its tool session.
type ChildHome struct {
	CallID    parley.ID `json:"-"`          // the tool_call message
	SessionID parley.ID `json:"session_id"` // where that stands
}

// CancelChild stops what works for a call that waits no more.
type CancelChild struct {
	SessionID parley.ID `json:"-"` // the tool session
}

// TellRoot tells the session at the root of a tree of an approval of a tool session.
type TellRoot struct {
	ApprovalID parley.ID `json:"-"`
	RootID     parley.ID `json:"root_id"`
}

// WakeSession lets a turn go on that waits for budget or for its rate.
type WakeSession struct {
	SessionID parley.ID `json:"-"`
}

// PurgeBlob deletes bytes that no file has, and uploads that stopped growing.
type PurgeBlob struct {
	BlobID parley.ID `json:"-"`
}

// PurgeSession deletes the rows of a tombstoned session.
type PurgeSession struct {
	SessionID parley.ID `json:"-"`
}

// PurgeLog deletes what no fork shares any more of a log whose session is gone.
type PurgeLog struct {
	LogID parley.ID `json:"-"`
}

// DetachProject takes the sessions out of a project that is gone.
type DetachProject struct {
	ProjectID parley.ID `json:"-"`
}

// DeleteSessions deletes the sessions of a project that is gone.
type DeleteSessions struct {
	ProjectID parley.ID `json:"-"`
}

// errands is how each kind of work is read from its row: the closed list.
var errands = map[string]func(target parley.ID) Work{ //nolint:gochecknoglobals // never written
	ChildHome{}.Kind():      func(target parley.ID) Work { return &ChildHome{CallID: target} },
	CancelChild{}.Kind():    func(target parley.ID) Work { return &CancelChild{SessionID: target} },
	TellRoot{}.Kind():       func(target parley.ID) Work { return &TellRoot{ApprovalID: target} },
	WakeSession{}.Kind():    func(target parley.ID) Work { return &WakeSession{SessionID: target} },
	PurgeBlob{}.Kind():      func(target parley.ID) Work { return &PurgeBlob{BlobID: target} },
	PurgeSession{}.Kind():   func(target parley.ID) Work { return &PurgeSession{SessionID: target} },
	PurgeLog{}.Kind():       func(target parley.ID) Work { return &PurgeLog{LogID: target} },
	DetachProject{}.Kind():  func(target parley.ID) Work { return &DetachProject{ProjectID: target} },
	DeleteSessions{}.Kind(): func(target parley.ID) Work { return &DeleteSessions{ProjectID: target} },
}

// Doer is a store that does errands.
type Doer interface {
	// Step runs a step of the core as one transaction, and returns what it returned.
	Step(workspaceID parley.ID, step func(*Tx) (again bool, err error)) (again bool, err error)
	// SessionsIn names some of a project's sessions, at most limit.
	SessionsIn(workspaceID, projectID parley.ID, limit int) ([]parley.ID, error)
	// These delete at most a batch of rows, and report whether nothing is left.
	PurgeBlob(workspaceID, blobID parley.ID) (done bool, err error)
	PurgeSession(workspaceID, sessionID parley.ID) (done bool, err error)
	PurgeLog(workspaceID, logID parley.ID) (done bool, err error)
}

// ErrUnknownErrand is an errand of a kind that only a newer program knows.
var ErrUnknownErrand = errors.New("transition: an errand of an unknown kind")

// ErrandOf reads an errand from its row. A row without a payload is from before errands
// had one, or was left by a statement about many rows.
func ErrandOf(workspaceID parley.ID, kind string, target parley.ID, payload json.RawMessage) (Errand, error) {
	made, known := errands[kind]
	if !known {
		return Errand{}, ErrUnknownErrand
	}
	errand := Errand{WorkspaceID: workspaceID, Work: made(target)}
	if len(payload) == 0 {
		return errand, nil
	}
	if err := json.Unmarshal(payload, errand.Work); err != nil {
		return Errand{}, parley.WrapError(parley.CodeInternal, err, "the payload of the errand "+kind+" cannot be read")
	}
	return errand, nil
}

// Payload is what the errand's row holds beside its columns; nil for nothing.
func (e *Errand) Payload() (json.RawMessage, error) {
	payload, err := json.Marshal(e.Work)
	if err != nil || string(payload) == "{}" {
		return nil, err
	}
	return payload, nil
}

// Do does a bounded piece of an errand's work, and reports whether that was the rest.
func (e *Errand) Do(by Doer) (done bool, err error) { return e.Work.do(e.WorkspaceID, by) }

// ClockSlack is how far ahead, in milliseconds, an errand may say that it was left
// before the clock is taken to have gone back.
const ClockSlack = parley.Time(2000)

// Rest is how long an errand rests between two pieces of its work, in milliseconds.
func (e *Errand) Rest() parley.Time {
	if e.Work.Kind() == (CancelChild{}).Kind() {
		return childPatience
	}
	return 0
}

// once is a piece of work that is one step.
func once(by Doer, workspaceID parley.ID, step func(*Tx) error) (done bool, err error) {
	_, err = by.Step(workspaceID, func(t *Tx) (bool, error) { return false, step(t) })
	return true, err
}

// projectBatch bounds the sessions that one piece of work detaches or deletes.
const projectBatch = 50

// eachIn takes a step for some of a project's sessions.
func eachIn(by Doer, workspaceID, projectID parley.ID, step func(*Tx, parley.ID) error) (done bool, err error) {
	ids, err := by.SessionsIn(workspaceID, projectID, projectBatch)
	for _, id := range ids {
		if _, err := once(by, workspaceID, func(t *Tx) error { return step(t, id) }); err != nil {
			return false, err
		}
	}
	return len(ids) < projectBatch, err
}

// Kind implements Work.
func (ChildHome) Kind() string { return "child_home" }

// Target implements Work.
func (w ChildHome) Target() parley.ID { return w.CallID }

func (w ChildHome) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error { return t.BringHome(workspaceID, w) })
}

// Kind implements Work.
func (CancelChild) Kind() string { return "cancel_child" }

// Target implements Work.
func (w CancelChild) Target() parley.ID { return w.SessionID }

func (w CancelChild) do(workspaceID parley.ID, by Doer) (bool, error) {
	again, err := by.Step(workspaceID, func(t *Tx) (bool, error) { return t.StopChild(w.SessionID) })
	return !again, err
}

// Kind implements Work.
func (TellRoot) Kind() string { return "approval_to_root" }

// Target implements Work.
func (w TellRoot) Target() parley.ID { return w.ApprovalID }

func (w TellRoot) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error { return t.TellRoot(workspaceID, w) })
}

// Kind implements Work.
func (WakeSession) Kind() string { return "wake_session" }

// Target implements Work.
func (w WakeSession) Target() parley.ID { return w.SessionID }

func (w WakeSession) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error { return t.Wake(w.SessionID) })
}

// Kind implements Work.
func (PurgeBlob) Kind() string { return "purge_blob" }

// Target implements Work.
func (w PurgeBlob) Target() parley.ID { return w.BlobID }

func (w PurgeBlob) do(workspaceID parley.ID, by Doer) (bool, error) {
	return by.PurgeBlob(workspaceID, w.BlobID)
}

// Kind implements Work.
func (PurgeSession) Kind() string { return "purge_session" }

// Target implements Work.
func (w PurgeSession) Target() parley.ID { return w.SessionID }

func (w PurgeSession) do(workspaceID parley.ID, by Doer) (bool, error) {
	return by.PurgeSession(workspaceID, w.SessionID)
}

// Kind implements Work.
func (PurgeLog) Kind() string { return "purge_log" }

// Target implements Work.
func (w PurgeLog) Target() parley.ID { return w.LogID }

func (w PurgeLog) do(workspaceID parley.ID, by Doer) (bool, error) {
	return by.PurgeLog(workspaceID, w.LogID)
}

// Kind implements Work.
func (DetachProject) Kind() string { return "detach_project" }

// Target implements Work.
func (w DetachProject) Target() parley.ID { return w.ProjectID }

func (w DetachProject) do(workspaceID parley.ID, by Doer) (bool, error) {
	return eachIn(by, workspaceID, w.ProjectID, func(t *Tx, id parley.ID) error { return t.Detach(id, w.ProjectID) })
}

// Kind implements Work.
func (DeleteSessions) Kind() string { return "delete_project_sessions" }

// Target implements Work.
func (w DeleteSessions) Target() parley.ID { return w.ProjectID }

func (w DeleteSessions) do(workspaceID parley.ID, by Doer) (bool, error) {
	return eachIn(by, workspaceID, w.ProjectID, (*Tx).Entomb)
}
