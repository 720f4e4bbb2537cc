package transition

import (
	"encoding/json"
	"errors"
	"time"

	"example.org/parley"
)

// Errand is work that a transition leaves to a later transaction, in the outbox. Any process does it, at least once; a
// crash may repeat it.
type Errand struct {
	WorkspaceID parley.ID
	Work        Work
	Delay       time.Duration // until it is due, by the database's clock
}

// Work is the subject of an errand: a closed sum. Its JSON is the errand's payload, apart from the row's columns.
type Work interface {
	Kind() string      // of the row
	Target() parley.ID // of the row
	// do does a bounded part of the work and reports whether the work is done.
	do(workspaceID parley.ID, by Doer) (done bool, err error)
}

// ChildHome records the result of a call from its tool session.
type ChildHome struct {
	CallID    parley.ID `json:"-"`          // the tool_call message
	SessionID parley.ID `json:"session_id"` // session of that message
}

// CancelChild stops the tool session of a call that no longer waits.
type CancelChild struct {
	SessionID parley.ID `json:"-"` // the tool session
}

// TellRoot tells the root session of a tree about an approval in a tool session.
type TellRoot struct {
	ApprovalID parley.ID `json:"-"`
	RootID     parley.ID `json:"root_id"`
	OwnerID    parley.ID `json:"owner_id,omitzero"` // of the tool session
}

// WakeSession resumes a turn that waits for a budget or a rate limit.
type WakeSession struct {
	SessionID parley.ID `json:"-"`
}

// PurgeBlob deletes bytes that no file uses, and uploads that stopped growing.
type PurgeBlob struct {
	BlobID parley.ID `json:"-"`
}

// PurgeSession deletes the rows of a tombstoned session.
type PurgeSession struct {
	SessionID parley.ID `json:"-"`
}

// PurgeLog deletes the part of a deleted session's log that no fork shares.
type PurgeLog struct {
	LogID parley.ID `json:"-"`
}

// DetachProject removes the sessions from a project that is gone.
type DetachProject struct {
	ProjectID parley.ID `json:"-"`
}

// DeleteSessions deletes the sessions of a project that is gone.
type DeleteSessions struct {
	ProjectID parley.ID `json:"-"`
}

// errands is the closed list of kinds, with how to read each from its row.
var errands = map[string]func(target parley.ID) Work{ //nolint:gochecknoglobals // never written
	ChildHome{}.Kind():      func(target parley.ID) Work { return &ChildHome{CallID: target} },
	CancelChild{}.Kind():    func(target parley.ID) Work { return &CancelChild{SessionID: target} },
	TellRoot{}.Kind():       func(target parley.ID) Work { return &TellRoot{ApprovalID: target} },
	WakeSession{}.Kind():    func(target parley.ID) Work { return &WakeSession{SessionID: target} },
	PurgeBlob{}.Kind():      func(target parley.ID) Work { return &PurgeBlob{BlobID: target} },
	PurgeSession{}.Kind():   func(target parley.ID) Work { return &PurgeSession{SessionID: target} },
	PurgeLog{}.Kind():       func(target parley.ID) Work { return &PurgeLog{LogID: target} },
	PurgeArtifact{}.Kind():  func(target parley.ID) Work { return &PurgeArtifact{ArtifactID: target} },
	DetachProject{}.Kind():  func(target parley.ID) Work { return &DetachProject{ProjectID: target} },
	DeleteSessions{}.Kind(): func(target parley.ID) Work { return &DeleteSessions{ProjectID: target} },

	DrawKnowledge{}.Kind(): func(target parley.ID) Work { return &DrawKnowledge{TurnID: target} },
	LearnDrawn{}.Kind():    func(target parley.ID) Work { return &LearnDrawn{SessionID: target} },

	RaiseAlert{}.Kind():           func(target parley.ID) Work { return &RaiseAlert{OccasionID: target} },
	TellOwner{}.Kind():            func(target parley.ID) Work { return &TellOwner{WebhookID: target} },
	TellInbox{}.Kind():            func(target parley.ID) Work { return &TellInbox{ApprovalID: target} },
	DeliverDelegation{}.Kind():    func(target parley.ID) Work { return &DeliverDelegation{DelegationID: target} },
	ReturnDelegation{}.Kind():     func(target parley.ID) Work { return &ReturnDelegation{DelegationID: target} },
	ExpireRun{}.Kind():            func(target parley.ID) Work { return &ExpireRun{TurnID: target} },
	ExpireDelegation{}.Kind():     func(target parley.ID) Work { return &ExpireDelegation{DelegationID: target} },
	TellRefused{}.Kind():          func(target parley.ID) Work { return &TellRefused{CallID: target} },
	StopDelegation{}.Kind():       func(target parley.ID) Work { return &StopDelegation{DelegationID: target} },
	EndPipelineTransform{}.Kind(): func(target parley.ID) Work { return &EndPipelineTransform{TransformID: target} },
	StopTransform{}.Kind():        func(target parley.ID) Work { return &StopTransform{SessionID: target} },
	EndDelegations{}.Kind():       func(target parley.ID) Work { return &EndDelegations{SubjectID: target} },
}

// Doer is a store that carries out errands.
type Doer interface {
	// Step runs a step of the core as one transaction and returns its result.
	Step(workspaceID parley.ID, step func(*Tx) (again bool, err error)) (again bool, err error)
	// LastStep is Step for one that does all that is left of the errand unless it returns again: a store may remove the
	// errand in the same transaction.
	LastStep(workspaceID parley.ID, step func(*Tx) (again bool, err error)) (again bool, err error)
	// SessionsIn returns at most limit sessions of a project.
	SessionsIn(workspaceID, projectID parley.ID, limit int) ([]parley.ID, error)
	// OpenDelegations returns at most limit unfinished delegations, sent until a time (0: at any time), from or to an
	// agent or a session.
	OpenDelegations(workspaceID, subjectID parley.ID, until parley.Time, limit int) ([]parley.ID, error)
	// AskedBelow returns at most limit unfinished tasks and questions that were sent for another delegation.
	AskedBelow(workspaceID, delegationID parley.ID, limit int) ([]parley.ID, error)
	// These delete at most a batch of rows and report whether nothing is left.
	PurgeBlob(workspaceID, blobID parley.ID) (done bool, err error)
	PurgeSession(workspaceID, sessionID parley.ID) (done bool, err error)
	PurgeLog(workspaceID, logID parley.ID) (done bool, err error)
	PurgeArtifact(workspaceID, artifactID parley.ID) (done bool, err error)
	// ReleaseArtifacts takes a batch of artifacts out of a project; DropArtifacts deletes those that have no session.
	ReleaseArtifacts(workspaceID, projectID parley.ID) (done bool, err error)
	DropArtifacts(workspaceID, projectID parley.ID) (done bool, err error)
}

// ErrUnknownErrand reports an errand of a kind that only a newer program knows.
var ErrUnknownErrand = errors.New("transition: an errand of an unknown kind")

// ErrandOf reads an errand from its row. A row has no payload if it is older than payloads, or if a statement about
// many rows left it.
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

// Payload returns the JSON that the errand's row stores beside its columns; nil for none.
func (e *Errand) Payload() (json.RawMessage, error) {
	payload, err := json.Marshal(e.Work)
	if err != nil || string(payload) == "{}" {
		return nil, err
	}
	return payload, nil
}

// Do does a bounded part of an errand's work and reports whether the work is done.
func (e *Errand) Do(by Doer) (done bool, err error) { return e.Work.do(e.WorkspaceID, by) }

// ClockSlack is how far ahead, in milliseconds, an errand's creation time may lie before the clock counts as set back.
const ClockSlack = parley.Time(2000)

// Rest is the pause between two parts of an errand's work, in milliseconds, after a number of earlier attempts.
func (e *Errand) Rest(attempts int64) parley.Time {
	switch e.Work.Kind() {
	case CancelChild{}.Kind(), StopTransform{}.Kind():
		return childPatience
	case ExpireDelegation{}.Kind(), StopDelegation{}.Kind(), ExpireRun{}.Kind():
		return delegationRest
	case DeliverDelegation{}.Kind(), ReturnDelegation{}.Kind(): // the queue there is full: perhaps for days
		rest := delegationRest
		for ; attempts > 0 && rest < maxDelegationRest; attempts-- {
			rest *= 2
		}
		return min(rest, maxDelegationRest)
	}
	return 0
}

// once does work that is a single step.
func once(by Doer, workspaceID parley.ID, step func(*Tx) error) (done bool, err error) {
	_, err = by.Step(workspaceID, func(t *Tx) (bool, error) { return false, step(t) })
	return true, err
}

// projectBatch bounds how many sessions one part of the work detaches or deletes.
const projectBatch = 50

// eachIn runs a step for each of some sessions of a project.
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
	return once(by, workspaceID, func(t *Tx) error { return t.RecordChildResult(workspaceID, w) })
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
	done, err := eachIn(by, workspaceID, w.ProjectID, func(t *Tx, id parley.ID) error {
		return t.Detach(id, w.ProjectID)
	})
	if err != nil || !done {
		return false, err
	}
	return by.ReleaseArtifacts(workspaceID, w.ProjectID)
}

// Kind implements Work.
func (DeleteSessions) Kind() string { return "delete_project_sessions" }

// Target implements Work.
func (w DeleteSessions) Target() parley.ID { return w.ProjectID }

func (w DeleteSessions) do(workspaceID parley.ID, by Doer) (bool, error) {
	if done, err := eachIn(by, workspaceID, w.ProjectID, (*Tx).Entomb); err != nil || !done {
		return false, err
	}
	return by.DropArtifacts(workspaceID, w.ProjectID)
}

// leave leaves an errand in the session's workspace.
func (h *Head) leave(work Work, delay time.Duration) {
	h.Changes.Outbox = append(h.Changes.Outbox, Errand{WorkspaceID: h.WorkspaceID, Work: work, Delay: delay})
}
