package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// auditOf closes the log, so that all of it is written, and reads it.
func (s *testServer) auditOf(session string) []parley.AuditEntry {
	s.Helper()
	s.audit.Close()
	query := store.AuditQuery{Ascending: true, Limit: parley.MaxPage}
	if session != "" {
		id, err := parley.ParseID(session)
		if err != nil {
			s.Fatal(err)
		}
		query.SessionID = id
	}
	workspace, err := s.store.Workspace(s.Context(), parley.DefaultWorkspace)
	if err != nil {
		s.Fatal(err)
	}
	entries, err := s.store.Audit(s.Context(), workspace, query)
	if err != nil {
		s.Fatal(err)
	}
	return entries
}

// behindLog knows which entries were written behind the requests, and not with a change.
type behindLog struct {
	store.AuditTrail
	mu  sync.Mutex // guards ids
	ids map[parley.ID]bool
}

func (b *behindLog) AppendAudit(ctx context.Context, entries []parley.AuditEntry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids == nil {
		b.ids = map[parley.ID]bool{}
	}
	for _, e := range entries {
		b.ids[e.ID] = true
	}
	return b.AuditTrail.AppendAudit(ctx, entries)
}

// storesNothing are actions that are no readings, and yet change nothing in the database.
var storesNothing = []string{
	"previewSchedule", "previewMessage", "warmAgent", "verify", "pingWebhook"}

// severalEntries are actions that concern several sessions.
var severalEntries = []string{
	"forkSession",
	"editMessage",
	"regenerateMessage",
	"shareSession",
	"unshareSession",
	"archiveFeature",
	"watchWorkspace",
}

// everythingIsAudited wants an entry of every action that was answered, with its
// session if it concerns one: of a change the one that was written with it.
func (s *testServer) everythingIsAudited(answered map[string]bool) {
	s.Helper()
	seen, session, with := map[string]bool{}, map[string]bool{}, map[string]bool{}
	requests := map[parley.ID]int{}
	for _, e := range s.auditOf("") {
		requests[e.RequestID]++
		if requests[e.RequestID] > 1 && !slices.Contains(severalEntries, e.Action) {
			s.Errorf("%s: a request left %d entries", e.Action, requests[e.RequestID])
		}
		with[e.Action] = with[e.Action] || !s.behind.ids[e.ID]
		if e.PrincipalID.IsZero() || e.PrincipalName == "" || e.RequestID.IsZero() || e.At == 0 {
			s.Errorf("an entry that says too little: %+v", e)
		}
		seen[e.Action] = true
		session[e.Action] = session[e.Action] || !e.SessionID.IsZero()
	}
	list := routes()
	for i := range list {
		r := &list[i]
		if !answered[r.name] {
			continue
		}
		if seen[r.action()] == r.unaudited() {
			s.Errorf("%s: audited %v", r.name, seen[r.name])
		}
		if changes := !slices.Contains(readings(), r.name) && !slices.Contains(storesNothing, r.name) &&
			!r.unaudited(); changes != with[r.action()] &&
			r.name != "setClientSession" {
			s.Errorf("%s: an entry was written with a change: %v; want %v", r.name, with[r.action()], changes)
		}
		path := r.paths[0]
		for _, of := range []string{"{session}", "{message}", "{turn}", "{call}", "{approval}"} {
			if strings.Contains(path, of) && !session[r.action()] && !r.unaudited() {
				s.Errorf("%s: no entry names a session", r.name)
			}
		}
	}
}

// TestAuditOfASession: who did what, without content, and refusals leave nothing.
func TestAuditOfASession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := want[parley.Session](s, 201, "POST", "/v1/sessions", `{"title":"a secret title"}`)
	at := "/v1/sessions/" + session.ID.String()
	answer := s.do("POST", at+"/messages", `{"content":{"text":"a secret"},"respond":false}`)
	message, err := parley.ParseID(answer.header.Get(messageHeader))
	if err != nil {
		t.Fatal(err)
	}
	s.stream("GET", at+"/events", "").until("message.created")
	s.do("GET", "/v1/messages/"+message.String(), "")
	s.do("GET", "/v1/messages/"+parley.NewID().String(), "")
	s.do("PATCH", at, `{"colour":"x"}`)
	s.do("DELETE", at, "")
	s.do("GET", at, "")
	type act struct {
		Action string
		Target parley.ID
	}
	var acts []act
	entries := s.auditOf(session.ID.String())
	for _, e := range entries {
		acts = append(acts, act{e.Action, e.TargetID})
	}
	wanted := []act{
		{"createSession", parley.ID{}},
		{"postMessage", message},
		{"watchSession", parley.ID{}},
		{"getMessage", message},
		{"deleteSession", parley.ID{}},
	}
	if diff := cmp.Diff(wanted, acts); diff != "" {
		t.Error(diff)
	}
	acts = nil
	for _, e := range want[engine.Page[parley.AuditEntry]](s, 200, "GET",
		"/v1/audit?order=asc&changes=true&session="+session.ID.String(), "").Data {
		acts = append(acts, act{e.Action, e.TargetID})
	}
	if diff := cmp.Diff(
		slices.DeleteFunc(
			wanted,
			func(one act) bool { return one.Action == "watchSession" || one.Action == "getMessage" },
		),
		acts,
	); diff != "" {
		t.Errorf("changes alone: %s", diff)
	}
	if len(entries) > 1 && entries[1].RequestID.String() != answer.header.Get(requestIDHeader) {
		t.Errorf("request %s was answered as %s", entries[1].RequestID, answer.header.Get(requestIDHeader))
	}
	if strings.Contains(fmt.Sprint(entries), "secret") {
		t.Error("the audit holds content")
	}
}

// TestClientsThatStayAreWrittenDownOnce: what a client says again leaves nothing.
func TestClientsThatStayAreWrittenDownOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	for range 3 {
		want[parley.Session](s, 200, "PUT", "/v1/clients/tab/session", `{"session_id":"`+session+`"}`)
	}
	want[struct{}](s, 204, "DELETE", "/v1/clients/tab/session", "")
	want[parley.Session](s, 200, "PUT", "/v1/clients/tab/session", `{"session_id":"`+session+`"}`)
	opened := 0
	for _, e := range s.auditOf(session) {
		if e.Action == "setClientSession" {
			opened++
		}
	}
	if opened != 2 {
		t.Errorf("opened %d times, want 2", opened)
	}
}
