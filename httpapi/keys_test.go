package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/stream"
)

func TestKeylessLoopbackIsTheLocalOwner(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	who := want[parley.Principal](s, http.StatusOK, "GET", "/v1/principal", "")
	if who.Workspace != parley.DefaultWorkspace || who.Role != parley.RoleAdmin {
		t.Errorf("principal %+v, want the admin of workspace default", who)
	}
	other := want[parley.Principal](
		s,
		http.StatusOK,
		"GET",
		"/v1/principal",
		"",
		"Authorization",
		"Bearer "+testToken,
		"Parley-Workspace",
		"studio",
	)
	if other.Workspace != "studio" || other.Role != parley.RoleAdmin || other.WorkspaceID == who.WorkspaceID {
		t.Errorf("principal %+v, want the admin of workspace studio", other)
	}
	if got := s.do("GET", "/v1/principal", "", "Parley-Workspace", "studio"); got.status != http.StatusForbidden {
		t.Errorf("a workspace chosen without the token: status %d", got.status)
	}
}

func TestBeyondLoopbackNothingWorksWithoutKey(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *Options) { o.Loopback = false })
	got := s.do("GET", "/v1/agents", "")
	if got.status != http.StatusUnauthorized || !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("status %d, WWW-Authenticate %q", got.status, got.header.Get("WWW-Authenticate"))
	}
	got.problem(t)
	for _, path := range []string{"/healthz", "/readyz", "/v1/openapi.json", "/docs"} {
		if got := s.do("GET", path, ""); got.status != http.StatusOK {
			t.Errorf("%s: status %d, want 200 without a key", path, got.status)
		}
	}
}

// From the first key on every request needs one, on loopback too, and the last
// revocation opens the door again.
func TestFirstKeyClosesTheDoor(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"ci"}`)
	if key.Secret == "" || key.Role != parley.RoleAdmin || !strings.HasPrefix(key.Secret, key.Prefix) {
		t.Fatalf("key %+v", key.Key)
	}
	for _, authorization := range []string{"", "Bearer pk_unknown", "Basic abc", "Bearer"} {
		got := s.do("GET", "/v1/agents", "", "Authorization", authorization)
		if got.status != http.StatusUnauthorized {
			t.Errorf("Authorization %q: status %d, want 401", authorization, got.status)
		}
		if problem := got.problem(t); problem.Code != parley.CodeUnauthenticated {
			t.Errorf("code %s", problem.Code)
		}
	}
	bearer := "Bearer " + key.Secret
	if who := want[parley.Principal](
		s,
		http.StatusOK,
		"GET",
		"/v1/principal",
		"",
		"Authorization",
		bearer,
	); who.Kind != parley.AuthorService {
		t.Errorf("principal %+v, want a service", who)
	}
	if got := s.do(
		"GET",
		"/v1/agents",
		"",
		"Authorization",
		bearer,
		"Parley-Workspace",
		"other",
	); got.status != http.StatusForbidden {
		t.Errorf("a key naming another workspace: status %d", got.status)
	}
	if got := s.do(
		"POST",
		"/v1/keys",
		`{"name":"x","workspace":"other"}`,
		"Authorization",
		bearer,
	); got.status != http.StatusForbidden {
		t.Errorf("a key made for another workspace by a key: status %d", got.status)
	}
	listed := s.do("GET", "/v1/keys", "", "Authorization", bearer)
	if strings.Contains(string(listed.body), key.Secret) {
		t.Error("the list of keys shows a secret")
	}
	if got := s.do(
		"DELETE",
		"/v1/keys/"+key.ID.String(),
		"",
		"Authorization",
		bearer,
	); got.status != http.StatusNoContent {
		t.Fatalf("revoke: status %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/v1/agents", ""); got.status != http.StatusOK {
		t.Errorf("after the last revocation: status %d, want the local owner again", got.status)
	}
	if log := s.log.String(); strings.Contains(log, key.Secret) || strings.Contains(log, testToken) {
		t.Error("the log holds a secret")
	}
}

// A revoked key opens nothing any more, and what it had opened ends: other people's
// streams, and those of the other keys, go on.
func TestRevokedKeyEndsItsStreams(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	local := []string{"Authorization", "Bearer " + testToken}
	kept, lost := s.key(
		"default",
		"kept",
		parley.RoleMember,
	), want[engine.NewKey](
		s,
		201,
		"POST",
		"/v1/keys",
		`{"name":"lost","role":"member"}`,
		local...)
	session := s.session(`{"model":"sim/echo","visibility":"workspace"}`, local...).ID.String()
	streams := map[string]*frames{}
	for name, secret := range map[string]string{"kept": kept, "lost": "Bearer " + lost.Secret} {
		streams[name] = s.stream("GET", "/v1/sessions/"+session+"/events", "", "Authorization", secret)
		streams[name+" workspace"] = s.stream("GET", "/v1/events?session="+session, "", "Authorization", secret)
	}
	say := func() {
		want[parley.Message](
			s,
			201,
			"POST",
			"/v1/sessions/"+session+"/messages",
			`{"content":{"text":"Hello."}}`,
			local...)
	}
	for began := time.Now(); time.Since(began) < 2*stream.CatchUpTime; { // until all are relayed live
		say()
		for _, f := range streams {
			f.until("session.completed")
		}
	}
	if got := s.do("DELETE", "/v1/keys/"+lost.ID.String(), "", local...); got.status != http.StatusNoContent {
		t.Fatalf("the key is not revoked: %d", got.status)
	}
	for _, name := range []string{"lost", "lost workspace"} {
		streams[name].rest() // ends
	}
	say()
	for _, name := range []string{"kept", "kept workspace"} {
		streams[name].until("session.completed")
	}
}

// TestARefusedKeyLeavesNoEntry: not even where its workspace was made for it.
func TestARefusedKeyLeavesNoEntry(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if got := s.do(
		"POST",
		"/v1/keys",
		`{"name":" ","workspace":"brand-new"}`,
	); got.status != http.StatusUnprocessableEntity {
		t.Fatalf("a key without a name: %d %s", got.status, got.body)
	}
	for _, e := range s.auditOf("") {
		if e.Action == "createKey" {
			t.Errorf("the refusal left %+v", e)
		}
	}
}
